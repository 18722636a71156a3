import APNsProtocol
import Core
import HTTP2
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("Activities and channels by the API", .database, .timeLimit(.minutes(5)))
struct ActivityTests {
    private func body(_ token: String = "00ff", _ more: String = "") -> String {
        #"{"token":"\#(token)","environment":"production","frequent_pushes_enabled":true\#(more)}"#
    }

    @Test("a phone registers, and is told whether it is behind")
    func registers() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        let target = "/v1/matches/m1/activities/a%2F1"
        let first = try await call.json("PUT", target, body(), 200)
        #expect(first.raw == #"{"activity":"a/1","match":"m1","version":0,"behind":false}"#)
        _ = try await fixture.call(fixture.feed).json(
            "POST",
            "/v1/matches/m1/events",
            #"{"id":"1","content_state":\#(APIFixture.state)}"#,
            202
        )
        #expect(try await call.json("PUT", target, body("00FF"), 200)["behind"].raw == "true")
        #expect(
            try await call.json("PUT", target, body("00ff", #","version":1,"device":"d""#), 200)["behind"].raw
                == "false"
        )
        #expect(await call.send("DELETE", "\(target)?reason=dismissed").status == 204)
        try await call.problem("DELETE", target, .notFound, field: "activity")
    }

    @Test("what is wrong is named")
    func wrong() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        let target = "/v1/matches/m1/activities/a"
        for (body, code, field) in [
            (body("0"), .invalidField, "token"), (body("xx"), .invalidField, "token"),
            (body(""), .invalidField, "token"),
            (body("00ff", #","token":"00ff""#), .duplicateKey, "token"),
            (body("00ff", #","os":"18""#), .unknownField, "os"),
            (body("00ff", #","version":-1"#), .invalidField, "version"),
            (body().replacing("production", with: "prod"), .invalidField, "environment"),
            (body().replacing("true", with: "1"), .invalidField, "frequent_pushes_enabled"),
            (#"{"token":"00ff","environment":"production"}"#, .invalidField, "frequent_pushes_enabled"),
        ] as [(String, Problem.Code, String)] {
            try await call.problem("PUT", target, body, code, field: field)
        }
        try await call.problem("PUT", "/v1/matches/nowhere/activities/a", body(), .notFound, field: "match")
        try await call.problem("PUT", "/v1/matches/m1/activities/%00", body(), .invalidField, field: "activity")
        try await call.problem("DELETE", "\(target)?why=x", .unknownField, field: "why")
    }

    @Test("single registrations that come together share transactions, each answered for itself")
    func together() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let token = String(number + 0x1000, radix: 16)
                    let body = #"{"token":"\#(token)","environment":"production","frequent_pushes_enabled":true}"#
                    let answer = try await call.json("PUT", "/v1/matches/m1/activities/a\(number)", body, 200)
                    #expect(answer["activity"].text == "a\(number)" && answer["behind"].raw == "false")
                }
                if number % 50 == 0 {
                    group.addTask {
                        let body = #"{"token":"0f","environment":"production","frequent_pushes_enabled":true}"#
                        try await call.problem(
                            "PUT",
                            "/v1/matches/nowhere/activities/a",
                            body,
                            .notFound,
                            field: "match"
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        let stored = try await fixture.store.owner(
            by: .patient,
            "SELECT count(*), count(DISTINCT registered_xid::text) FROM activities"
        )
        #expect(stored[0].int(0) == 200)
        #expect(stored[0].int(1) < 150, "\(stored[0].int(1)) transactions")
    }

    @Test("many register at once")
    func lines() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        var lines = (0..<1_300).map { index in
            #"{"activity":"a\#(index)","token":"\#(String(index + 0x10000, radix: 16))0","environment":"production","frequent_pushes_enabled":false}"#
        }
        lines[7] = "{"
        lines[8] = #"{"activity":"a8","token":"zz","environment":"production","frequent_pushes_enabled":false}"#
        let answers = try await call.lines("/v1/matches/m1/activities", lines)
        try #require(answers.count == 1_300)
        #expect(answers.filter { $0["status"].text == "stored" }.count == 1_298)
        #expect(answers[6]["activity"].text == "a6" && answers[6]["behind"].raw == "false")
        #expect(answers[7]["code"].text == "malformed_json" && answers[7]["activity"].raw == "null")
        #expect(answers[8]["field"].text == "token" && answers[8]["activity"].text == "a8")
        let stored = try await fixture.store.database.query(
            "SELECT count(*) FROM activities",
            [],
            by: .patient
        )
        #expect(stored[0].int(0) == 1_298)
        try await call.problem("POST", "/v1/matches/nowhere/activities", lines[0], .notFound, field: "match")
    }

    @Test("an environment without an app is said")
    func noApp() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        let admin = fixture.call(fixture.admin)
        _ = try await admin.json("PUT", "/v1/apps/\(APIFixture.bundle)/sandbox", try APIFixture.appBody(), 200)
        let match = try await admin.json("PUT", "/v1/matches/m1", APIFixture.matchBody, 201)
        #expect(match["warnings"].raw == #"["type_without_contract"]"#)
        try await admin.problem("PUT", "/v1/matches/m1/activities/a", body(), .invalidField, field: "environment")
        try await admin.problem("GET", "/v1/matches/m1/channel?environment=production", .noChannel)
    }

    /// What a channel waits for, and for how long, as its problem says it.
    private func waits(_ fixture: APIFixture, _ target: String) async throws {
        func expect(_ detail: String, _ seconds: Int, after change: String) async throws {
            _ = try await fixture.store.owner(by: .patient, change)
            let response = await fixture.call(fixture.app).send("GET", "\(target)?environment=sandbox")
            let text = String(decoding: response.body, as: UTF8.self)
            #expect(text.contains("the channel is not open yet: \(detail)"), "\(text)")
            #expect(response.fields["retry-after"] == String(seconds), "\(text)")
        }
        let now = "timestamptz '2026-07-19T20:46:03Z'"
        let later = "UPDATE channels SET next_at = \(now) + interval '3 days'"
        let lead = ", 86400 s before the kick-off (channel_lead)"
        try await expect("it is made at 2026-07-22T20:46:03Z\(lead)", 259_200, after: later)
        try await expect("it is made now", 1, after: "UPDATE channels SET next_at = \(now)")
        let failed = """
            UPDATE channels SET last_error = 'CannotCreateChannelConfig', next_at = \(now) + interval '300 seconds'
            """
        let again = "it is tried again at 2026-07-19T20:51:03Z"
        try await expect("CannotCreateChannelConfig; \(again)", 300, after: failed)
        try await expect("APNs is being asked for it", 300, after: "UPDATE channels SET creating_at = now()")
        try await expect("the app is paused", 60, after: "UPDATE apps SET paused_at = now()")
        let stop = "UPDATE apps SET channels_stopped = 'BroadcastFeatureNotEnabled: switch it on'"
        try await expect(
            "channel work of the app is stopped: BroadcastFeatureNotEnabled: switch it on",
            60,
            after: stop
        )
        let back = "UPDATE apps SET paused_at = NULL, channels_stopped = NULL"
        try await expect("APNs is being asked for it", 300, after: back)
    }

    @Test("the channel's id is given once it is open")
    func channel() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        let target = "/v1/matches/m1/channel"
        let pending = await call.send("GET", "\(target)?environment=sandbox")
        #expect(pending.status == 404 && pending.fields["retry-after"] != nil)
        try await call.problem("GET", "\(target)?environment=sandbox", .channelPending)
        try await waits(fixture, target)
        try await call.problem("GET", target, .invalidField, field: "environment")
        try await call.problem(
            "GET",
            "\(target)?environment=sandbox&frequent_pushes_enabled=1",
            .invalidField,
            field: "frequent_pushes_enabled"
        )
        let tenant = try #require(TenantID(validating: fixture.tenant))
        let match = MatchKey(tenant: tenant, match: try #require(MatchID(validating: "m1")))
        let id = try #require(ChannelID(validating: "ab+/AA=="))
        let records = try await fixture.store.channels(of: match, by: .patient)
        for record in records where record.environment == .sandbox {
            try await fixture.store.channelOpened(record, as: id, by: .patient)
        }
        let open = try await call.json("GET", "\(target)?environment=sandbox", 200)
        #expect(open.raw == #"{"channel_id":"ab+/AA==","environment":"sandbox","cadence":"any","storage_policy":1}"#)
        let shown = try await call.json("GET", "/v1/matches/m1", 200)
        #expect(shown["channels"].elements.map { $0["channel_id"].optionalText } == [nil, "ab+/AA=="])
    }

    @Test("deliveries are shown")
    func deliveries() async throws {
        let fixture = try await APIFixture.make()
        let shown = try await fixture.call(fixture.read).json("GET", "/v1/matches/m1/deliveries", 200)
        #expect(shown["match"].text == "m1" && shown["version"].raw == "0" && shown["sends"].elements.isEmpty)
        try await fixture.call(fixture.read).problem("GET", "/v1/matches/x/deliveries", .notFound, field: "match")
    }
}
