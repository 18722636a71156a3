import Core
import EventLoop
import HTTP2
import HTTPServer
import Server
import TestSupport
import Testing

@Suite("The API over the wire", .database, .timeLimit(.minutes(2)))
struct WireTests {
    @Test("paths, bodies and problems arrive as they were meant")
    func overHTTP2() async throws {
        let fixture = try await APIFixture.make()
        try await withServer(fixture) { client in
            let match = try await client.send(fixture, "PUT", "/v1/matches/a%2F%C3%B1", APIFixture.matchBody)
            #expect(match["match"].text == "a/ñ")
            let event = #"{"id":"1","content_state":{ "home":1,"away":0,"clock":"🇪🇸" }}"#
            #expect(
                try await client.send(fixture, "POST", "/v1/matches/a%2F%C3%B1/events", event).response.status == 202
            )
            let shown = try await client.send(fixture, "GET", "/v1/matches/a%2F%C3%B1")
            #expect(shown["content_state"].raw == #"{ "home":1,"away":0,"clock":"🇪🇸" }"#)
            let bad = try await client.send(fixture, "GET", "/v1/matches/%00")
            #expect(bad.response.status == 422 && bad["field"].text == "match")
            #expect(bad.response.fields["content-type"] == "application/problem+json")
        }
    }

    @Test("a body over the limit is refused as a problem, and nothing is stored")
    func bodyTooLarge() async throws {
        let fixture = try await APIFixture.make()
        try await withServer(fixture) { client in
            let body =
                #"{"id":"1","content_state":{"home":1,"away":0,"clock":"\#(String(repeating: "a", count: 3 << 20))"}}"#
            let answer = try await client.send(fixture, "POST", "/v1/matches/m1/events", body)
            #expect(answer.response.status == 413 && answer["code"].text == "body_too_large")
            #expect(answer.response.fields["x-request-id"] != nil)
            #expect(try await client.send(fixture, "GET", "/v1/matches/m1")["version"].raw == "0")
        }
    }

    private func withServer(_ fixture: APIFixture, _ body: (HTTP2Client) async throws -> Void) async throws {
        // Not stopped: its actors must be gone before a loop is.
        let loop = TestDatabase.current.loop
        var configuration = HTTPServerConfiguration(address: .loopback(port: 0))
        configuration.limits.maxBodyBytes = 2 << 20
        configuration.refuse = { API.refusal($0) }
        let server = try await HTTPServer.start(configuration, loops: [loop], handler: fixture.api.handler)
        let client = try await HTTP2Client.connect(
            host: "127.0.0.1",
            port: server.port,
            tls: nil,
            on: loop,
            by: .now + .seconds(10)
        )
        try await body(client)
        await client.close()
        await server.drain(by: .now + .seconds(10))
    }
}

extension HTTP2Client {
    func send(
        _ fixture: APIFixture,
        _ method: String,
        _ target: String,
        _ body: String = ""
    ) async throws -> JSONAnswer {
        let request = HTTPRequest(
            method: method,
            scheme: "http",
            authority: "localhost",
            target: target,
            fields: ["authorization": "Bearer \(fixture.admin)"],
            body: Array(body.utf8)
        )
        let response = try await send(request, by: .now + .seconds(10))
        return JSONAnswer(try JSONScanner.read(response.body), response)
    }
}
