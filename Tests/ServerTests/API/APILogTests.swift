import Core
import HTTP2
import HTTPServer
import Log
import PostgreSQL
import Store
import TestSupport
import Testing

@testable import Server

@Suite("What the API says in the log", .database, .timeLimit(.minutes(5)))
struct APILogTests {
    private static let scorer = "SECRETSCORER"
    private static let body = #"{"id":"e1","content_state":{"home":1,"away":0,"clock":"1'","scorer":"SECRETSCORER"}}"#

    @Test("each 503 with its request id and cause")
    func unavailable() async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(log: log.logger("api"))
        await fixture.store.api.shutdown()
        let call = APICaller(api: fixture.api, key: fixture.feed, fields: ["x-request-id": "goal-1"])
        #expect(await call.send("POST", "/v1/matches/m1/events", Self.body).status == 503)
        let lines = log.all()
        let line = try #require(lines.first)
        #expect(lines.count == 1)
        #expect(line.contains(" warning api: a call failed; status=503 request_id=goal-1"))
        #expect(line.contains(#"call="POST /v1/matches/{match}/events" reason="the database is not available: "#))
        #expect(!line.contains(Self.scorer) && !line.contains(fixture.feed))
    }

    @Test("each 500 with its request id and PostgreSQL's code, and nothing of the call")
    func failed() async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(log: log.logger("api"))
        try await fault("NO_SUCH_THING: Failing row contains (\(Self.scorer)", code: "P0001")
        let response = await fixture.call(fixture.feed).send("POST", "/v1/matches/m1/events", Self.body)
        #expect(response.status == 500)
        let id = try #require(response.fields["x-request-id"])
        let line = await log.line(with: "error api: a call failed; status=500 request_id=\(id)")
        #expect(line.contains("SQLSTATE P0001"))
    }

    @Test("a disk without room, in PostgreSQL's words")
    func diskFull() async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(log: log.logger("api"))
        try await fault("could not extend file: No space left on device", code: "53100")
        let single = APICaller(api: fixture.api, key: fixture.feed, fields: ["x-request-id": "full-1"])
        #expect(await single.send("POST", "/v1/matches/m1/events", Self.body).status == 503)
        let line = await log.line(with: "request_id=full-1")
        #expect(line.contains("No space left on device (SQLSTATE 53100)"))
    }

    @Test("refused keys, the first of many, and never the key")
    func wrongKeys() async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(log: log.logger("api"))
        let keys = ["tl_feed_00_SECRETKEY", "SECRETKEY", fixture.feed + "0"]
        for number in 0..<60 {
            let status = await fixture.call(keys[number % 3]).send("GET", "/v1/matches/SECRETMATCH").status
            #expect(status == 401)
        }
        let lines = log.lines()
        #expect(lines.filter { $0.contains("warning api: an API key was refused; request_id=") }.count == 5)
        #expect(lines.last?.hasSuffix("an API key was refused; suppressed=55") == true)
        #expect(lines.allSatisfy { !$0.contains("SECRET") && !$0.contains(fixture.feed) })
    }

    @Test("events that come to nothing: superseded ones and those after the end", arguments: [false, true])
    func cameToNothing(asLines: Bool) async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(log: log.logger("api"))
        let feed = fixture.call(fixture.feed)
        func post(_ members: String, _ status: Int) async throws {
            let event = #"{\#(asLines ? #""match":"m1","# : "")\#(members)}"#
            let path = asLines ? "/v1/events" : "/v1/matches/m1/events"
            let response = await feed.send("POST", path, event)
            #expect(response.status == (asLines ? 200 : status))
        }
        let state = #""content_state":{"home":1,"away":0,"clock":"1'","scorer":"SECRETSCORER"}"#
        try await post(#""id":"e2","sequence":2,\#(state)"#, 202)
        try await post(#""id":"e1","sequence":1,\#(state)"#, 200)
        try await post(#""id":"e3","sequence":3,"kind":"end",\#(state)"#, 202)
        let tenant = try #require(TenantID(validating: fixture.tenant))
        let match = MatchKey(tenant: tenant, match: MatchID(unchecked: "m1"))
        _ = try await fixture.store.end(match, by: .patient)
        try await post(#""id":"e4","sequence":4,\#(state)"#, 200)
        try await post(#""id":"e4","sequence":4,\#(state)"#, 200)
        let lines = log.all()
        #expect(lines.count == 2, "\(lines)")
        let names = "tenant=\(fixture.tenant) match=m1"
        #expect(lines.first?.contains("info api: an event was superseded: a later one had come before it;") == true)
        #expect(lines.first?.contains("\(names) event=e1 sequence=1 ") == true)
        #expect(lines.last?.contains("info api: an event was ignored: its match has ended; \(names) event=e4") == true)
        #expect(!lines.joined().contains(Self.scorer))
        let counts = Dictionary(uniqueKeysWithValues: fixture.api.events.values.map { ($0.0.rawValue, $0.1) })
        #expect(
            counts == ["accepted": 2, "superseded": 1, "ignored": 1, "replayed": 1, "refused": 0, "failed": 0]
        )
    }

    @Test("that an app's work goes on, by whose doing, and why it had stopped")
    func resumed() async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(log: log.logger("api"))
        let path = "/v1/apps/\(APIFixture.bundle)/production"
        let admin = fixture.call(fixture.admin)
        let sql = "UPDATE apps SET tokens_stopped = 'TopicDisallowed' WHERE environment = 'production'"
        _ = try await fixture.store.owner(by: .patient, sql)
        _ = try await admin.json("PATCH", path, #"{"stopped":null}"#, 200)
        _ = try await admin.json("PATCH", path, #"{"stopped":null}"#, 200)
        _ = try await fixture.store.owner(by: .patient, sql)
        _ = try await admin.json("PUT", path, try APIFixture.appBody(), 200)
        let names = "tenant=\(fixture.tenant) app=\(APIFixture.bundle) environment=production work=tokens"
        let lines = log.all().filter { $0.contains("an app's work goes on") }
        #expect(lines.count == 2)
        #expect(lines.first?.contains("\(names) by=command was_stopped_for=TopicDisallowed") == true)
        #expect(lines.last?.contains("\(names) by=credential was_stopped_for=TopicDisallowed") == true)
        #expect(!lines.joined().contains("PRIVATE"))
    }

    @Test("what the HTTP server itself cannot answer")
    func refusals() async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(hasMatch: false, log: log.logger("api"))
        let response = fixture.api.refusal(HTTPRefusal(501, "this transfer coding is not spoken"))
        let id = try #require(response.fields["x-request-id"])
        _ = fixture.api.refusal(HTTPRefusal(414, "the request target is too long"))
        let lines = log.all()
        #expect(lines.count == 1)
        #expect(lines.first?.contains("status=501 request_id=\(id) reason=\"this transfer") == true)
    }

    /// From now on PostgreSQL cannot take an event.
    private func fault(_ message: String, code: String) async throws {
        _ = try await TestDatabase.current.store().owner(
            by: .patient,
            [
                PGStatement(
                    """
                    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN RAISE EXCEPTION '\(message)' USING ERRCODE = '\(code)'; END $$
                    """
                ),
                PGStatement("CREATE TRIGGER fail BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION fail()"),
            ]
        )
    }
}
