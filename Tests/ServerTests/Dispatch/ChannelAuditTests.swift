import APNsProtocol
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("An audit of channels", .database, .timeLimit(.minutes(5)))
struct ChannelAuditTests {
    private func made(_ engine: EngineFixture, _ bundle: BundleID) async throws -> ChannelID {
        guard case .created(let id) = try await engine.ask(.create(bundle, .mostRecentMessageStored)) else {
            throw Problem(.internalError, "not created")
        }
        return id
    }

    @Test("tells orphaned, lost and foreign apart, deletes the orphaned that it is told, and replaces a live match's")
    func classes() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single'"
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            let bundle = try #require(BundleID(validating: EngineFixture.bundle))
            try await engine.until("SELECT state = 'open' FROM channels")
            let admin = try await engine.admin()
            let live = try #require(try await engine.value("SELECT channel_id FROM channels"))
            let (orphan, foreign) = (try await made(engine, bundle), try await made(engine, bundle))
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "INSERT INTO channel_ids VALUES ('t_acme', $1, 'production', $2, 'final', 'any')",
                [.text(bundle.text), .text(orphan.text)]
            )
            func audit(_ body: String = "") async throws -> JSONAnswer {
                let items = try await admin.json("POST", "/v1/channels/audit", body, 200)["items"].elements
                return try #require(items.first)
            }
            let first = try await audit()
            #expect(first["used"].raw == "3" && first["open"].raw == "1" && first["limit"].raw == "10000")
            #expect(first["orphaned"].elements.map { $0["channel_id"].text } == [orphan.text])
            #expect(first["foreign"].elements.map(\.text) == [foreign.text])

            for id in [live, foreign.text] {
                try await admin.problem(
                    "POST",
                    "/v1/channels/audit",
                    #"{"delete":["\#(id)"]}"#,
                    .conflict,
                    field: id == live ? "id" : "delete"
                )
            }
            func path(_ id: String) -> String {
                let escapes = ["+": "%2B", "/": "%2F", "=": "%3D"]
                return "/v1/channels/" + id.map { escapes[String($0)] ?? String($0) }.joined()
            }
            try await admin.problem("DELETE", path(live), .conflict, field: "id")
            try await admin.problem("DELETE", path(foreign.text), .notFound, field: "id")
            #expect(try await audit()["used"].raw == "3")

            let second = try await audit(#"{"delete":["\#(orphan.text)"]}"#)
            #expect(second["used"].raw == "2")
            #expect(second["orphaned"].elements.map { $0["deleted"].raw } == ["true"])

            _ = try await engine.ask(.delete(bundle, try #require(ChannelID(validating: live))))
            let third = try await audit(#"{"bundle":"\#(bundle.text)","environment":"production"}"#)
            #expect(third["lost"].elements.map { $0["channel_id"].text } == [live])
            #expect(third["lost"].elements.map { $0["replaced"].raw } == ["true"])
            try await engine.until("SELECT state = 'open' AND channel_id <> '\(live)' FROM channels")
            let last = try await audit()
            #expect(last["used"].raw == "2" && last["open"].raw == "1" && last["lost"].elements.isEmpty)
            let items = try await admin.json("GET", "/v1/channels", 200)["items"].elements
            #expect(items.first?["replaced_at"].optionalText != nil)
        }
    }

    @Test("an admin has a channel made before its time")
    func madeNow() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', channel_lead = 0"
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE channels SET state = 'pending', channel_id = NULL, creating_at = NULL, attempts = 0, next_at = now() + interval '9 days'"
            )
            let admin = try await engine.admin()
            try await admin.problem("POST", "/v1/channels", #"{"match":"none"}"#, .notFound, field: "match")
            _ = try await admin.json("POST", "/v1/channels", #"{"match":"final","environment":"production"}"#, 202)
            try await engine.until("SELECT state = 'open' FROM channels")
        }
    }
}
