import Core
import EventLoop
import Executables
import HTTP2
import HTTPServer
import TestSupport
import Testing

@testable import touchline

/// A service that answers what a test tells it to, in turn; the last answer for all that follows.
private final class ScriptedService: Sendable {
    private let answers: ThreadLock<[HTTPResponse]>
    private let seen = ThreadLock<[HTTPRequest]>([])

    init(_ answers: [HTTPResponse]) { self.answers = ThreadLock(answers) }

    var requests: [HTTPRequest] { seen.withLock { $0 } }

    func answer(_ request: HTTPRequest) -> HTTPResponse {
        seen.withLock { $0.append(request) }
        return answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }

    func start(port: Int = 0, on loop: EventLoop) async throws -> HTTPServer {
        let configuration = HTTPServerConfiguration(address: .loopback(port: port))
        return try await HTTPServer.start(configuration, loops: [loop]) { self.answer($0) }
    }
}

@Suite("A call of the API", .timeLimit(.minutes(5)))
struct APIClientTests {
    private func problem(_ status: Int, _ code: String, retryAfter: Int? = nil) -> HTTPResponse {
        var fields: HTTPFields = ["content-type": "application/problem+json"]
        if let retryAfter { fields.append("retry-after", "\(retryAfter)") }
        let body = #"{"code":"\#(code)","title":"t","detail":"what was wrong","field":"a.b","hint":"do this"}"#
        return HTTPResponse(status: status, fields: fields, body: Array(body.utf8))
    }

    /// Calls a service that gives these answers.
    private func call(
        _ answers: [HTTPResponse],
        patience: Duration = .zero,
        _ body: (APIClient, ScriptedService) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "service")
        let service = ScriptedService(answers)
        let server = try await service.start(on: loop)
        let api = try APIClient.connecting(
            to: "http://127.0.0.1:\(server.port)",
            key: "tl_feed_k_s",
            tenant: "t_1",
            patience: patience
        )
        try await body(api, service)
        await api.close()
        await server.drain(by: .patient)
    }

    @Test("carries key, tenant and body")
    func carries() async throws {
        try await call([HTTPResponse(status: 200, body: Array("{}".utf8))]) { api, service in
            _ = try await api.send("PUT", "/v1/x?y=1", ["a": 1])
            let request = try #require(service.requests.first)
            #expect(request.method == "PUT")
            #expect(request.target == "/v1/x?y=1")
            #expect(request.fields["authorization"] == "Bearer tl_feed_k_s")
            #expect(request.fields["touchline-tenant"] == "t_1")
            #expect(request.fields["content-type"] == "application/json")
            #expect(String(decoding: request.body, as: UTF8.self) == #"{"a":1}"#)
        }
    }

    @Test(
        "that is refused becomes an exit code and a text",
        arguments: [
            (401, Failure.Kind.notAllowed), (403, .notAllowed), (404, .notFound), (409, .failed), (422, .failed),
        ]
    )
    func refusals(status: Int, kind: Failure.Kind) async throws {
        try await call([problem(status, "some_code")]) { api, _ in
            let failure = try await #require(throws: Failure.self) { try await api.send("GET", "/v1/x") }
            #expect(failure.kind == kind)
            #expect(failure.message == "what was wrong (field a.b) [some_code]")
            #expect(failure.hint == "do this")
            #expect(failure.code == "some_code")
        }
    }

    @Test("is made again when the service asks for patience, as often as that lasts", arguments: [429, 503])
    func isPatient(status: Int) async throws {
        let answers = [problem(status, "rate_limited", retryAfter: 0), HTTPResponse(status: 200)]
        try await call(answers, patience: .seconds(20)) { api, service in
            _ = try await api.send("POST", "/v1/events")
            #expect(service.requests.count == 2)
        }
        try await call(answers) { api, service in
            await #expect(throws: Failure.self) { try await api.send("POST", "/v1/events") }
            #expect(service.requests.count == 1)
        }
    }

    @Test("goes to a service that was started again")
    func reconnects() async throws {
        let loop = try EventLoop(name: "service")
        let service = ScriptedService([HTTPResponse(status: 200)])
        let first = try await service.start(on: loop)
        let api = try APIClient.connecting(
            to: "http://127.0.0.1:\(first.port)",
            key: nil,
            patience: .seconds(20)
        )
        _ = try await api.send("GET", "/1")
        await first.drain(by: .patient)
        let second = try await service.start(port: first.port, on: loop)
        _ = try await api.send("GET", "/2")
        #expect(service.requests.map(\.target) == ["/1", "/2"])
        await api.close()
        await second.drain(by: .patient)
    }

    @Test("says where nobody answers")
    func saysWhere() async throws {
        let api = try APIClient.connecting(to: "http://127.0.0.1:1", key: nil)
        let failure = try await #require(throws: Failure.self) { try await api.send("GET", "/") }
        #expect(failure.message.hasPrefix("http://127.0.0.1:1 does not answer"))
        #expect(failure.hint?.contains("touchline serve") == true)
    }
}

@Suite("Playing a script")
struct FeedTests {
    @Test("posts each event after the one before, with its sequence")
    func postsInOrder() async throws {
        let loop = try EventLoop(name: "service")
        let service = ScriptedService([
            HTTPResponse(status: 202, body: Array(#"{"status":"accepted","version":7}"#.utf8))
        ])
        let server = try await service.start(on: loop)
        let api = try APIClient.connecting(to: "http://127.0.0.1:\(server.port)", key: "k")
        let script = try #require(MatchScriptWriter.script(of: FinalOf2022.match, kicks: FinalOf2022.kicks))
        let report = try await Feed(api: api, pace: .max).play(script, match: "a/ñ")
        #expect(report == Feed.Report(accepted: script.steps.count, version: 7))
        #expect(Set(service.requests.map(\.target)) == ["/v1/matches/a%2F%C3%B1/events"])
        let bodies = service.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == script.steps.indices.map { script.eventBody(at: $0).text })
        await api.close()
        await server.drain(by: .patient)
    }

    @Test(
        "has a pace",
        arguments: [("max", Duration.zero), ("60", .seconds(10)), ("600x", .seconds(1)), ("0.5", .seconds(1_200))]
    )
    func pace(text: String, due: Duration) throws {
        #expect(try Pace(text).due(minutes: 10) == due)
    }

    @Test("refuses what is no pace", arguments: ["", "0", "-1", "fast", "nan", "inf"])
    func noPace(text: String) {
        #expect(throws: Failure.self) { try Pace(text) }
    }
}
