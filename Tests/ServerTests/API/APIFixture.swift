import APNsProtocol
import Core
import Crypto
import HTTP2
import Log
import Server
import Store
import Synchronization
import TestSupport
import Testing

/// The API on the running test's database, with a tenant, its keys, an app in both environments, a type and a match.
struct APIFixture: Sendable {
    let store: Store
    let api: API
    let wakes: WakeCounter
    let operatorKey: String
    let tenant: String
    let admin: String
    let feed: String
    let app: String
    let read: String

    static let bundle = "com.example.score"
    static let contract = #"{"home":"int","away":"int","clock":"string","scorer":"string?"}"#
    static let state = #"{"home":0,"away":0,"clock":"0'"}"#
    static let now = Timestamp(seconds: 1_784_493_963)  // 2026-07-19T20:46:03Z
    static let p8 = Result { try P256PrivateKey.generate().pem }

    /// With `hasMatch`, app, type and the match `m1` are there too.
    static func make(hasMatch: Bool = true, log: Logger = .silent) async throws -> APIFixture {
        let store = TestDatabase.current.store()
        let wakes = WakeCounter()
        let api = API(store: store, patience: Patience.long, log: log, now: { now }, wake: { wakes.add() })
        let key = try await store.createOperatorKey(by: .patient)
        let caller = APICaller(api: api, key: key.text)
        let tenant = try await caller.json("POST", "/v1/tenants", #"{"name":"acme"}"#, 201)["tenant"].text
        func secret(_ role: String) async throws -> String {
            try await caller.json("POST", "/v1/tenants/\(tenant)/keys", #"{"role":"\#(role)"}"#, 201)["secret"].text
        }
        let fixture = APIFixture(
            store: store,
            api: api,
            wakes: wakes,
            operatorKey: key.text,
            tenant: tenant,
            admin: try await secret("admin"),
            feed: try await secret("feed"),
            app: try await secret("app"),
            read: try await secret("read")
        )
        if hasMatch { try await fixture.addMatch() }
        return fixture
    }

    func addMatch(_ match: String = "m1") async throws {
        for environment in ["sandbox", "production"] {
            _ = try await call(admin).json("PUT", "/v1/apps/\(Self.bundle)/\(environment)", try Self.appBody(), 200)
        }
        let type = #"{"content_state":\#(Self.contract)}"#
        _ = try await call(admin).json("PUT", "/v1/apps/\(Self.bundle)/types/ScoreAttributes", type, 200)
        _ = try await call(admin).json("PUT", "/v1/matches/\(match)", Self.matchBody, 201)
    }

    func call(_ key: String?) -> APICaller { APICaller(api: api, key: key) }

    static func appBody(_ more: String = "") throws -> String {
        let pem = try p8.get()
        let quoted = String(decoding: JSONOutput.string(pem).bytes, as: UTF8.self)
        return #"{"team_id":"TEAM123456","key_id":"KEY1234567","p8":\#(quoted)\#(more)}"#
    }

    static let matchBody = """
        {"bundle":"\(bundle)","type":"ScoreAttributes","kickoff_at":"2026-07-19T19:00:00Z","content_state":\(state)}
        """
}

final class WakeCounter: Sendable {
    private let count = Mutex(0)
    func add() { count.withLock { $0 += 1 } }
    var value: Int { count.withLock { $0 } }
}

/// Calls the API with one key.
struct APICaller: Sendable {
    let api: API
    let key: String?
    var fields: HTTPFields = [:]

    func send(_ method: String, _ target: String, _ body: String = "") async -> HTTPResponse {
        await send(method, target, bytes: Array(body.utf8))
    }

    func send(_ method: String, _ target: String, bytes: [UInt8]) async -> HTTPResponse {
        var request = HTTPRequest(method: method, authority: "localhost", target: target, fields: fields, body: bytes)
        if let key { request.fields.set("authorization", "Bearer \(key)") }
        return await api.answer(request)
    }

    /// Sends, expects the status and reads the answer.
    func json(
        _ method: String,
        _ target: String,
        _ body: String,
        _ status: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONAnswer {
        let response = await send(method, target, body)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == status, "\(method) \(target): \(text)", sourceLocation: sourceLocation)
        #expect(response.fields["x-request-id"] != nil, sourceLocation: sourceLocation)
        return try JSONAnswer(JSONScanner.read(response.body), response)
    }

    func json(
        _ method: String,
        _ target: String,
        _ status: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONAnswer {
        try await json(method, target, "", status, sourceLocation: sourceLocation)
    }

    func problem(
        _ method: String,
        _ target: String,
        _ code: Problem.Code,
        field: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await problem(method, target, "", code, field: field, sourceLocation: sourceLocation)
    }

    /// Sends, and expects a problem.
    func problem(
        _ method: String,
        _ target: String,
        _ body: String,
        _ code: Problem.Code,
        field: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let response = await send(method, target, body)
        let text = String(decoding: response.body, as: UTF8.self)
        let answer = try JSONAnswer(JSONScanner.read(response.body), response)
        #expect(answer["code"].optionalText == code.rawValue, "\(text)", sourceLocation: sourceLocation)
        #expect(answer["field"].optionalText == field, "\(text)", sourceLocation: sourceLocation)
        #expect(response.status == code.status, sourceLocation: sourceLocation)
        #expect(answer["status"].raw == String(response.status), sourceLocation: sourceLocation)
        #expect(response.fields["content-type"] == "application/problem+json", sourceLocation: sourceLocation)
        #expect(answer["title"].optionalText?.isEmpty == false, sourceLocation: sourceLocation)
        #expect(response.fields["x-request-id"] != nil, sourceLocation: sourceLocation)
    }

    /// Sends lines, expects 200 and reads the answer's lines.
    func lines(_ target: String, _ lines: [String]) async throws -> [JSONAnswer] {
        let response = await send("POST", target, lines.joined(separator: "\n"))
        #expect(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
        return try response.body.split(separator: UInt8(ascii: "\n")).map {
            JSONAnswer(try JSONScanner.read(Array($0)), response)
        }
    }
}

/// An answer's JSON, for looking into.
struct JSONAnswer {
    let value: JSONValue?
    let response: HTTPResponse

    init(_ value: JSONValue?, _ response: HTTPResponse) {
        self.value = value
        self.response = response
    }

    subscript(_ name: String) -> JSONAnswer { JSONAnswer(value?.member(name), response) }

    var optionalText: String? {
        if case .string(let text)? = value?.content { text } else { nil }
    }

    var text: String { optionalText ?? "" }

    var raw: String? { value?.rawJSON.text }

    var elements: [JSONAnswer] {
        guard case .array(let elements)? = value?.content else { return [] }
        return elements.map { JSONAnswer($0, response) }
    }
}
