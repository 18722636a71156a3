import Core
import HTTP2
import Server
import TestSupport
import Testing

@Suite("Who may call the API", .database, .timeLimit(.minutes(5)))
struct AccessTests {
    @Test("without a valid key nothing is told")
    func unauthenticated() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        try await fixture.call(nil).problem("GET", "/v1/apps", .unauthenticated)
        #expect(await fixture.call(nil).send("GET", "/v1/apps").fields["www-authenticate"] == "Bearer")
        for key in [
            "", "x", "tl_admin_a", "tl_admin_a_b_c", "tl_boss_a_b", "tl_admin_deadbeef_00", fixture.admin + "0",
        ] {
            try await fixture.call(key).problem("GET", "/v1/apps", .unauthenticated)
        }
        // The role is part of the key: it cannot be raised by writing another one.
        let raised = fixture.read.replacing("tl_read_", with: "tl_admin_")
        try await fixture.call(raised).problem("GET", "/v1/apps", .unauthenticated)
    }

    @Test("a revoked key is out at once, an expired one too")
    func revoked() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        let operatorCall = fixture.call(fixture.operatorKey)
        let keys = "/v1/tenants/\(fixture.tenant)/keys"
        let made = try await operatorCall.json(
            "POST",
            keys,
            #"{"role":"admin","expires_at":"2099-01-01T00:00:00Z"}"#,
            201
        )
        #expect(made["expires_at"].text == "2099-01-01T00:00:00Z")
        #expect(made["secret"].text.hasPrefix("tl_admin_"))
        #expect(made["key"].text.hasPrefix("k_"))
        let call = fixture.call(made["secret"].text)
        #expect(await call.send("GET", "/v1/apps").status == 200)
        #expect(await operatorCall.send("DELETE", "\(keys)/\(made["key"].text)").status == 204)
        try await call.problem("GET", "/v1/apps", .unauthenticated)
        #expect(await operatorCall.send("DELETE", "\(keys)/\(made["key"].text)").status == 204)
        try await operatorCall.problem("DELETE", "\(keys)/k_0", .notFound, field: "key")
        try await operatorCall.problem(
            "POST",
            keys,
            #"{"role":"admin","expires_at":"2020-01-01T00:00:00Z"}"#,
            .invalidField,
            field: "expires_at"
        )
        try await operatorCall.problem("POST", keys, #"{"role":"operator"}"#, .invalidField, field: "role")
        let list = try await operatorCall.json("GET", keys, 200)
        #expect(list["items"].elements.count == 5)
        #expect(list["items"].elements.allSatisfy { $0["secret"].value == nil })
    }

    @Test("a revoked key's event is not taken, though its match was read for the one before")
    func revokedFeed() async throws {
        let fixture = try await APIFixture.make()
        let operatorCall = fixture.call(fixture.operatorKey)
        let keys = "/v1/tenants/\(fixture.tenant)/keys"
        let made = try await operatorCall.json("POST", keys, #"{"role":"feed"}"#, 201)
        let call = fixture.call(made["secret"].text)
        func event(_ id: Int) -> String { #"{"id":"\#(id)","content_state":\#(APIFixture.state)}"# }
        for id in 1...2 {
            _ = try await call.json("POST", "/v1/matches/m1/events", event(id), 202)
        }
        try await call.problem("POST", "/v1/matches/none/events", event(3), .notFound, field: "match")
        #expect(await operatorCall.send("DELETE", "\(keys)/\(made["key"].text)").status == 204)
        try await call.problem("POST", "/v1/matches/m1/events", event(3), .unauthenticated)
        let events = try await fixture.call(fixture.admin).json("GET", "/v1/matches/m1/events", 200)
        #expect(events["items"].elements.map { $0["event"].text } == ["1", "2"])
    }

    @Test("roles keep to what is theirs")
    func roles() async throws {
        let fixture = try await APIFixture.make()
        let event = #"{"id":"1","content_state":\#(APIFixture.state)}"#
        let activity = #"{"token":"00ff","environment":"production","frequent_pushes_enabled":true}"#
        for key in [fixture.app, fixture.read] {
            try await fixture.call(key).problem("POST", "/v1/matches/m1/events", event, .roleNotAllowed)
            try await fixture.call(key).problem("POST", "/v1/events", event, .roleNotAllowed)
        }
        for key in [fixture.feed, fixture.read] {
            try await fixture.call(key).problem("PUT", "/v1/matches/m1/activities/a", activity, .roleNotAllowed)
            try await fixture.call(key).problem("PUT", "/v1/matches/m2", APIFixture.matchBody, .roleNotAllowed)
        }
        for key in [fixture.feed, fixture.app, fixture.read] {
            let app = try APIFixture.appBody()
            try await fixture.call(key).problem("PUT", "/v1/apps/com.example.x/sandbox", app, .roleNotAllowed)
            try await fixture.call(key).problem("GET", "/v1/tenants", .roleNotAllowed)
            try await fixture.call(key).problem("GET", "/v1/tenants/\(fixture.tenant)/keys", .roleNotAllowed)
        }
        try await fixture.call(fixture.admin).problem("POST", "/v1/tenants", #"{"name":"x"}"#, .roleNotAllowed)
        for key in [fixture.admin, fixture.feed, fixture.app, fixture.read] {
            #expect(await fixture.call(key).send("GET", "/v1/matches/m1").status == 200)
        }
    }

    @Test("an operator names the tenant")
    func operators() async throws {
        let fixture = try await APIFixture.make()
        var call = fixture.call(fixture.operatorKey)
        try await call.problem("GET", "/v1/matches/m1", .tenantRequired)
        call.fields = ["touchline-tenant": fixture.tenant]
        #expect(await call.send("GET", "/v1/matches/m1").status == 200)
        for tenant in ["t_0000000000000000", "../x", ""] {
            call.fields = ["touchline-tenant": tenant]
            try await call.problem("GET", "/v1/matches/m1", .notFound, field: "tenant")
        }
    }

    @Test("another tenant's things do not exist")
    func otherTenant() async throws {
        let fixture = try await APIFixture.make()
        let operatorCall = fixture.call(fixture.operatorKey)
        let other = try await operatorCall.json("POST", "/v1/tenants", #"{"name":"other"}"#, 201)["tenant"].text
        let key = try await operatorCall.json("POST", "/v1/tenants/\(other)/keys", #"{"role":"admin"}"#, 201)["secret"]
            .text
        let call = fixture.call(key)
        try await call.problem("GET", "/v1/matches/m1", .notFound, field: "match")
        try await call.problem("DELETE", "/v1/matches/m1", .notFound, field: "match")
        try await call.problem("GET", "/v1/matches/m1/deliveries", .notFound, field: "match")
        try await call.problem("GET", "/v1/matches/m1/events", .notFound, field: "match")
        try await call.problem("GET", "/v1/matches/m1/channel?environment=sandbox", .notFound, field: "match")
        let event = #"{"id":"1","content_state":\#(APIFixture.state)}"#
        try await call.problem("POST", "/v1/matches/m1/events", event, .notFound, field: "match")
        let activity = #"{"token":"00ff","environment":"production","frequent_pushes_enabled":true}"#
        try await call.problem("PUT", "/v1/matches/m1/activities/a", activity, .notFound, field: "match")
        try await call.problem("GET", "/v1/apps/\(APIFixture.bundle)/sandbox", .notFound)
        try await call.problem("GET", "/v1/tenants/\(fixture.tenant)/keys", .notFound, field: "tenant")
        try await call.problem(
            "POST",
            "/v1/tenants/\(fixture.tenant)/keys",
            #"{"role":"admin"}"#,
            .notFound,
            field: "tenant"
        )
        #expect(try await call.json("GET", "/v1/matches", 200)["items"].elements.isEmpty)
        #expect(try await call.json("GET", "/v1/channels", 200)["items"].elements.isEmpty)
        var borrowed = call
        borrowed.fields = ["touchline-tenant": fixture.tenant]
        try await borrowed.problem("GET", "/v1/matches/m1", .notFound, field: "tenant")
        // The other tenant may use the same ids for things of its own.
        #expect(await call.send("PUT", "/v1/apps/\(APIFixture.bundle)/sandbox", try APIFixture.appBody()).status == 200)
        #expect(await call.send("PUT", "/v1/matches/m1", APIFixture.matchBody).status == 201)
        #expect(await call.send("DELETE", "/v1/matches/m1").status == 204)
        #expect(await fixture.call(fixture.read).send("GET", "/v1/matches/m1").status == 200)
    }

    @Test("paths and methods that are not there")
    func unknown() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        let call = fixture.call(fixture.admin)
        for path in ["/", "/v1", "/v2/apps", "/v1/apps/", "/v1/matches/a/b", "*", "/v1/matches/m1/events/"] {
            try await call.problem("GET", path, .notFound)
        }
        try await call.problem("PUT", "/v1/apps", "{}", .methodNotAllowed)
        #expect(await call.send("DELETE", "/v1/apps/a/sandbox").fields["allow"] == "PUT, GET, HEAD, PATCH")
        #expect(await call.send("OPTIONS", "/healthz").status == 405)
        #expect(await fixture.call(nil).send("HEAD", "/healthz").status == 200)
        #expect(await fixture.call(nil).send("GET", "/readyz").status == 200)
        try await call.problem("GET", "/v1/apps?limt=5", .unknownField, field: "limt")
    }

    @Test("a harmless request id is given back")
    func requestIDs() async throws {
        let fixture = try await APIFixture.make(hasMatch: false)
        var call = fixture.call(nil)
        call.fields = ["x-request-id": "abc-123"]
        #expect(await call.send("GET", "/healthz").fields["x-request-id"] == "abc-123")
        for bad in ["", String(repeating: "a", count: 129), "a b", "ä"] {
            call.fields = ["x-request-id": bad]
            let id = await call.send("GET", "/healthz").fields["x-request-id"]
            #expect(id?.utf8.count == 16)
        }
    }
}
