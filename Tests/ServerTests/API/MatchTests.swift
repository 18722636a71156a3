import Core
import HTTP2
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("Tenants, apps, types and matches by the API", .database, .timeLimit(.minutes(5)))
struct MatchTests {
    @Test("tenants are made, listed, renamed, paused")
    func tenants() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        let call = fixture.call(fixture.operatorKey)
        for name in ["b", "c"] { _ = try await call.json("POST", "/v1/tenants", #"{"name":"\#(name)"}"#, 201) }
        var seen: [String] = []
        var after = ""
        repeat {
            let page = try await call.json("GET", "/v1/tenants?limit=2&after=\(after)", 200)
            seen += page["items"].elements.map { $0["tenant"].text }
            after = page["next"].optionalText ?? ""
        } while !after.isEmpty
        #expect(seen.count == 3 && Set(seen).count == 3 && seen == seen.sorted())
        let changed = try await call.json("PATCH", "/v1/tenants/\(fixture.tenant)", #"{"name":"d","paused":true}"#, 200)
        #expect(changed["name"].text == "d" && changed["paused"].raw == "true")
        let resumed = try await call.json("PATCH", "/v1/tenants/\(fixture.tenant)", #"{"paused":false}"#, 200)
        #expect(resumed["name"].text == "d" && resumed["paused"].raw == "false")
        try await call.problem("PATCH", "/v1/tenants/t_0", "{}", .notFound, field: "tenant")
        try await call.problem("POST", "/v1/tenants", "{}", .invalidField, field: "name")
        try await call.problem("POST", "/v1/tenants", #"{"name":""}"#, .invalidField, field: "name")
        try await call.problem("POST", "/v1/tenants", #"{"nam":"a"}"#, .unknownField, field: "nam")
        try await call.problem("GET", "/v1/tenants?limit=0", .invalidField, field: "limit")
        try await call.problem("GET", "/v1/tenants?after=%25", .invalidField, field: "after")
    }

    @Test("an app keeps its key to itself")
    func apps() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        let call = fixture.call(fixture.admin)
        let target = "/v1/apps/\(APIFixture.bundle)/production"
        let made = try await call.json(
            "PUT",
            target,
            try APIFixture.appBody(#","pacing":{"frequent":{"gap_seconds":7}},"channels":"by_cadence""#),
            200
        )
        #expect(made["p8"].value == nil && made["key_fingerprint"].text.utf8.count == 64)
        #expect(
            made["pacing"].raw
                == #"{"frequent":{"gap_seconds":7,"urgent_per_hour":120},"standard":{"gap_seconds":60,"urgent_per_hour":15}}"#
        )
        #expect(made["channels"].text == "by_cadence" && made["stopped"].raw == #"{"tokens":null,"channels":null}"#)
        #expect(made["stale_after"].raw == "900" && made["storage_policy"].raw == "1" && made["tokens"].raw == "true")
        let shown = try await call.json("GET", target, 200)
        #expect(shown.raw == made.raw)
        let changed = try await call.json("PATCH", target, #"{"paused":true,"stale_after":300}"#, 200)
        #expect(
            changed["paused"].raw == "true" && changed["stale_after"].raw == "300"
                && changed["channels"].text == "by_cadence"
        )
        #expect(try await call.json("PATCH", target, #"{"paused":false,"stopped":null}"#, 200)["paused"].raw == "false")
        #expect(try await call.json("GET", "/v1/apps", 200)["items"].elements.count == 1)
        try await call.problem("GET", "/v1/apps/\(APIFixture.bundle)/sandbox", .notFound)
        try await call.problem("PATCH", "/v1/apps/\(APIFixture.bundle)/sandbox", "{}", .notFound)
    }

    @Test("another credential gets another number, the same keeps it")
    func credentials() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        let call = fixture.call(fixture.admin)
        let target = "/v1/apps/\(APIFixture.bundle)/production"
        func number() async throws -> Int64 {
            try await fixture.store.database.query("SELECT credential_id FROM apps", [], by: .patient)[0].int(
                0
            )
        }
        _ = try await call.json("PUT", target, try APIFixture.appBody(), 200)
        let first = try await number()
        _ = try await call.json("PUT", target, try APIFixture.appBody(#","tokens":false"#), 200)
        #expect(try await number() == first)
        let other = try APIFixture.appBody().replacing("KEY1234567", with: "KEY7654321")
        _ = try await call.json("PUT", target, other, 200)
        #expect(try await number() > first)
    }

    @Test("keys stand in the database only sealed, or as digests")
    func atRest() async throws {
        let fixture = try await APIFixture.make()
        let pool = fixture.store.database
        let body = try #require(try APIFixture.p8.get().split(separator: "\n").dropFirst().first)
        let dump = try await pool.query(
            """
            SELECT (SELECT string_agg(encode(p8_ciphertext, 'escape') || a::text, '') FROM apps a),
                   (SELECT string_agg(k::text || encode(secret_sha256, 'escape'), '') FROM api_keys k)
            """,
            [],
            by: .patient
        )[0]
        #expect(!dump.text(0).contains(body) && !dump.text(0).contains("BEGIN PRIVATE KEY"))
        let secret = try #require(fixture.admin.split(separator: "_").last)
        #expect(!dump.text(1).contains(secret))
        // Sealed for this app: another row's key does not open it.
        let sealed = try await pool.query("SELECT p8_ciphertext FROM apps LIMIT 1", [], by: .patient)[0]
            .bytes(0)
        let other = MasterKey.Binding(purpose: "p8", tenant: "t_other", subject: "a/production")
        #expect(throws: StoreError.self) { try fixture.store.masterKey.open(sealed, for: other) }
    }

    @Test("what is wrong with an app is named")
    func badApps() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        let call = fixture.call(fixture.admin)
        let target = "/v1/apps/\(APIFixture.bundle)/production"
        let good = try APIFixture.appBody()
        try await call.problem("PUT", "/v1/apps/com.example_x/production", good, .invalidField, field: "bundle")
        try await call.problem("PUT", "/v1/apps/com.example.x/live", good, .invalidField, field: "environment")
        for (more, code, field) in [
            (#","channels":"both""#, .invalidField, "channels"),
            (#","storage_policy":2"#, .invalidField, "storage_policy"),
            (#","pacing":{"fast":{}}"#, .unknownField, "pacing.fast"), (#","tokens":"yes""#, .invalidField, "tokens"),
            (#","pacing":{"frequent":{"gap_seconds":-1}}"#, .invalidField, "pacing.frequent.gap_seconds"),
            (#","bundle":"x""#, .unknownField, "bundle"), (#","stale_after":5"#, .invalidField, "stale_after"),
        ] as [(String, Problem.Code, String)] {
            try await call.problem("PUT", target, try APIFixture.appBody(more), code, field: field)
        }
        try await call.problem(
            "PUT",
            target,
            good.replacing("TEAM123456", with: "team"),
            .invalidField,
            field: "team_id"
        )
        let key =
            #"{"team_id":"TEAM123456","key_id":"KEY1234567","p8":"-----BEGIN PUBLIC KEY-----\nMIGH\n-----END PUBLIC KEY-----"}"#
        try await call.problem("PUT", target, key, .keyNotUsable, field: "p8")
        try await call.problem("GET", target, .notFound)
    }

    @Test("a contract in use by a live match may only grow optional fields")
    func types() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        let target = "/v1/apps/\(APIFixture.bundle)/types/ScoreAttributes"
        #expect(try await call.json("GET", target, 200)["content_state"].raw == APIFixture.contract)
        let other = #"{"content_state":{"home":"string"}}"#
        #expect(await call.send("PUT", target, other).status == 200)
        let attributes = #","attributes":{"competition":"string"}}"#
        _ = try await call.json("PUT", target, #"{"content_state":\#(APIFixture.contract)"# + attributes, 200)
        _ = try await fixture.call(fixture.feed).json(
            "POST",
            "/v1/matches/m1/events",
            #"{"id":"1","content_state":\#(APIFixture.state)}"#,
            202
        )
        try await call.problem("PUT", target, other, .contractInUse, field: "content_state.home")
        let grown = APIFixture.contract.dropLast() + #","red":"int?"}"#
        for (changed, field) in [
            ("}", "attributes"), (#","attributes":{"competition":"int"}}"#, "attributes.competition"),
        ] {
            let body = #"{"content_state":\#(grown)"# + changed
            try await call.problem("PUT", target, body, .contractInUse, field: field)
        }
        _ = try await call.json("PUT", target, #"{"content_state":\#(grown)"# + attributes, 200)
        try await call.problem(
            "PUT",
            target,
            #"{"content_state":{"a":"number"}}"#,
            .invalidField,
            field: "content_state.a"
        )
        try await call.problem("PUT", "/v1/apps/a.b/types/1x", other, .invalidField, field: "type")
        #expect(try await call.json("GET", "/v1/apps/\(APIFixture.bundle)/types", 200)["items"].elements.count == 1)
    }

    @Test("a match is made, changed, deleted and made again")
    func matches() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.app)
        let shown = try await call.json("GET", "/v1/matches/m1", 200)
        #expect(
            shown["version"].raw == "0" && shown["status"].text == "scheduled"
                && shown["content_state"].raw == APIFixture.state
        )
        #expect(shown["channels"].elements.map { $0["environment"].text } == ["production", "sandbox"])
        #expect(shown["channels"].elements.allSatisfy { $0["state"].text == "pending" && $0["cadence"].text == "any" })
        let again = try await call.json("PUT", "/v1/matches/m1", APIFixture.matchBody, 200)
        #expect(again["version"].raw == "0")
        _ = try await fixture.call(fixture.feed).json(
            "POST",
            "/v1/matches/m1/events",
            #"{"id":"1","sequence":5,"content_state":{"home":1,"away":0,"clock":"9'"}}"#,
            202
        )
        let later = try await call.json("PUT", "/v1/matches/m1", APIFixture.matchBody, 200)
        #expect(later["version"].raw == "1" && later["status"].text == "live")
        #expect(later["content_state"].raw == #"{"home":1,"away":0,"clock":"9'"}"#)
        let moved = APIFixture.matchBody.replacing("ScoreAttributes", with: "Other")
        try await call.problem("PUT", "/v1/matches/m1", moved, .conflict, field: "type")
        #expect(await call.send("DELETE", "/v1/matches/m1").status == 204)
        try await call.problem("GET", "/v1/matches/m1", .notFound, field: "match")
        try await call.problem("DELETE", "/v1/matches/m1", .notFound, field: "match")
        let back = try await call.json("PUT", "/v1/matches/m1", APIFixture.matchBody, 201)
        #expect(back["version"].raw == "2" && back["status"].text == "scheduled")
        let event = #"{"id":"1","sequence":1,"content_state":\#(APIFixture.state)}"#
        #expect(
            try await fixture.call(fixture.feed).json("POST", "/v1/matches/m1/events", event, 202)["version"].raw == "3"
        )
    }

    /// Paths, and the id where it is not the path itself.
    private static let goodIDs: [(String, String?)] = [
        ("a%2Fb", "a/b"), ("worldcup-2022%2F64", "worldcup-2022/64"), ("%C3%B1", "ñ"), ("e%CC%81", "e\u{301}"),
        ("é", nil), ("a+b", nil), ("%25", "%"), (".", nil), ("%F0%9F%87%AA%F0%9F%87%B8", "🇪🇸"),
        (String(repeating: "a", count: 200), nil), ("a%20b%22%5C", "a b\"\\"), ("a%0Ab", "a\nb"),
    ]

    @Test("an id may be any text of at most 200 bytes")
    func matchIDs() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        for (path, id) in Self.goodIDs {
            let made = try await call.json("PUT", "/v1/matches/\(path)", APIFixture.matchBody, 201)
            #expect(made["match"].text.utf8.elementsEqual((id ?? path).utf8))
            let shown = try await call.json("GET", "/v1/matches/\(path)", 200)
            #expect(shown["match"].text.utf8.elementsEqual((id ?? path).utf8))
            let event = #"{"id":"1","content_state":\#(APIFixture.state)}"#
            #expect(await call.send("POST", "/v1/matches/\(path)/events", event).status == 202)
        }
    }

    private static let badIDs = [
        "%00", "a%00b", "%FF", "%C3", "%zz", "%", "%ED%A0%80", String(repeating: "a", count: 201),
        String(repeating: "%C3%B1", count: 150), "",
    ]

    @Test("an id that cannot be one is refused")
    func badMatchIDs() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        for path in Self.badIDs {
            try await call.problem("PUT", "/v1/matches/\(path)", APIFixture.matchBody, .invalidField, field: "match")
            try await call.problem("GET", "/v1/matches/\(path)", .invalidField, field: "match")
            try await call.problem("POST", "/v1/matches/\(path)/events", "{}", .invalidField, field: "match")
        }
        #expect(try await call.json("GET", "/v1/matches", 200)["items"].elements.count == 1)
    }

    @Test("what is wrong with a match is named, and nothing is stored")
    func badMatches() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        let body = APIFixture.matchBody
        for (body, code, field) in [
            (body.replacing(APIFixture.bundle, with: "com.example.other"), .invalidField, "bundle"),
            (body.replacing("2026-07-19T19:00:00Z", with: "tomorrow"), .invalidField, "kickoff_at"),
            (body.replacing("\"2026-07-19T19:00:00Z\"", with: "1784487600"), .invalidField, "kickoff_at"),
            (body.replacing(#""clock":"0'""#, with: #""clock":0"#), .contractViolation, "content_state.clock"),
            (body.replacing(#""home":0"#, with: #""home":0,"home":0"#), .duplicateKey, "content_state.home"),
            (body.dropLast() + #","status":"live"}"#, .invalidField, "status"),
            (body.dropLast() + #","topics":["a",1]}"#, .invalidField, "topics[1]"),
            (body.dropLast() + #","start":{"alert":{"titel":"x"}}}"#, .unknownField, "start.alert.titel"),
            (body.dropLast() + #","start":{"alert":{}}}"#, .invalidField, "start.alert.title"),
            (body.dropLast() + #","start":{"alert":{"title":"x"}}}"#, .invalidField, "start.alert.body"),
            (body.dropLast() + #","start":{"alert":{"title":" ","body":"x"}}}"#, .invalidField, "start.alert.title"),
            (body.dropLast() + #","kickof_at":1}"#, .unknownField, "kickof_at"),
            ("{", .malformedJSON, nil), ("[]", .badRequest, nil), ("", .malformedJSON, nil),
        ] as [(String, Problem.Code, String?)] {
            try await call.problem("PUT", "/v1/matches/m2", body, code, field: field)
        }
        let stateless =
            #"{"bundle":"\#(APIFixture.bundle)","type":"ScoreAttributes","kickoff_at":"2026-07-19T19:00:00Z"}"#
        try await call.problem("PUT", "/v1/matches/m2", stateless, .invalidField, field: "content_state")
        try await call.problem("GET", "/v1/matches/m2", .notFound, field: "match")
        #expect(await call.send("PUT", "/v1/matches/m1", stateless).status == 200)
    }

    @Test("lists go on where they stopped")
    func lists() async throws {
        let fixture = try await APIFixture.make()
        let call = fixture.call(fixture.admin)
        for index in 2...7 { _ = try await call.json("PUT", "/v1/matches/m\(index)", APIFixture.matchBody, 201) }
        for (target, count) in [("/v1/matches?limit=3", 7), ("/v1/channels?limit=4", 14)] {
            var seen: [String] = []
            var after = ""
            repeat {
                let page = try await call.json("GET", "\(target)&after=\(after)", 200)
                seen += page["items"].elements.map { $0["match"].text + $0["environment"].text }
                after = page["next"].optionalText ?? ""
            } while !after.isEmpty
            #expect(seen.count == count && Set(seen).count == count)
        }
        #expect(try await call.json("GET", "/v1/matches?status=live", 200)["items"].elements.isEmpty)
        #expect(try await call.json("GET", "/v1/matches?bundle=a.b", 200)["items"].elements.isEmpty)
        try await call.problem("GET", "/v1/matches?status=x", .invalidField, field: "status")
    }
}
