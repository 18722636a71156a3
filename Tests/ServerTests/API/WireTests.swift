import Core
import EventLoop
import HTTP2
import HTTPServer
import Server
import TestSupport
import Testing

@Suite("The API over the wire", .database, .timeLimit(.minutes(5)))
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
                #"{"id":"1","content_state":{"home":1,"away":0,"clock":"\#(String(repeating: "a", count: 300 << 10))"}}"#
            let answer = try await client.send(fixture, "POST", "/v1/matches/m1/events", body)
            #expect(answer.response.status == 413 && answer["code"].text == "body_too_large")
            #expect(answer.response.fields["x-request-id"] != nil)
            #expect(answer["limit"].raw == String(256 << 10))
            // Without a declared length it is what had come when it was refused.
            let size = try #require(answer["size"].raw.flatMap { Int($0) })
            #expect(size > 256 << 10 && size <= body.utf8.count, "\(size)")
            #expect(try await client.send(fixture, "GET", "/v1/matches/m1")["version"].raw == "0")
        }
    }

    @Test("lines are streamed: a body far over the limit of others, its answers, and its problems")
    func lines() async throws {
        let fixture = try await APIFixture.make()
        try await withServer(fixture) { client in
            let lines = (0..<2_000).map { index in
                let token = TestTokens.token(index)
                return
                    #"{"activity":"phone-\#(index)","token":"\#(token)\#(token)","environment":"production","frequent_pushes_enabled":true}"#
            }
            let body = lines.joined(separator: "\n")
            #expect(body.utf8.count > 256 << 10)
            let answer = try await client.raw(fixture, "POST", "/v1/matches/m1/activities", body)
            #expect(answer.status == 200 && answer.fields["content-type"] == "application/x-ndjson")
            #expect(answer.fields["x-request-id"] != nil)
            let answers = answer.body.split(separator: UInt8(ascii: "\n"))
            #expect(answers.count == 2_000)
            #expect(answers.allSatisfy { String(decoding: $0, as: UTF8.self).contains(#""status":"stored""#) })
            #expect(try await client.raw(fixture, "POST", "/v1/events", "").status == 200)
            let lost = try await client.send(fixture, "POST", "/v1/matches/nowhere/activities", body)
            #expect(lost.response.status == 404 && lost["code"].text == "not_found")
            let typo = try await client.send(fixture, "POST", "/v1/events?x=1", "{}")
            #expect(typo.response.status == 422 && typo["field"].text == "x")
            let keyless = try await client.raw(fixture, "POST", "/v1/events", body, key: "tl_x")
            #expect(keyless.status == 401 && keyless.fields["www-authenticate"] == "Bearer")
        }
    }

    private func withServer(_ fixture: APIFixture, _ body: (HTTP2Client) async throws -> Void) async throws {
        // Not stopped: its actors must be gone before a loop is.
        let loop = TestDatabase.current.loop
        var configuration = HTTPServerConfiguration(address: .loopback(port: 0))
        configuration.limits.maxBodyBytes = 256 << 10
        configuration.refuse = { fixture.api.refusal($0) }
        let server = try await HTTPServer.start(
            configuration,
            loops: [loop],
            handler: fixture.api.handler,
            streaming: fixture.api.streaming
        )
        let client = try await HTTP2Client.connect(
            host: "127.0.0.1",
            port: server.port,
            tls: nil,
            on: loop,
            by: .patient
        )
        try await body(client)
        await client.close()
        await server.drain(by: .patient)
    }
}

extension HTTP2Client {
    func send(
        _ fixture: APIFixture,
        _ method: String,
        _ target: String,
        _ body: String = ""
    ) async throws -> JSONAnswer {
        let response = try await raw(fixture, method, target, body)
        return JSONAnswer(try JSONScanner.read(response.body), response)
    }

    func raw(
        _ fixture: APIFixture,
        _ method: String,
        _ target: String,
        _ body: String,
        key: String? = nil
    ) async throws -> HTTPResponse {
        let request = HTTPRequest(
            method: method,
            scheme: "http",
            authority: "localhost",
            target: target,
            fields: ["authorization": "Bearer \(key ?? fixture.admin)"],
            body: Array(body.utf8)
        )
        return try await send(request, by: .patient)
    }
}
