internal import Core
internal import EventLoop
internal import Executables
internal import HTTP2
import FoundationEssentials

/// Calls the API as a careful client does: what is not answered, or answered with "later", goes again, to another process.
struct ChaosClient: Sendable {
    let fleet: Fleet
    let key: String
    let tallies: CallTallies

    /// One attempt: a process that was stopped answers no more.
    private static let attemptTimeout = Duration.seconds(4)

    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
        /// How often it was sent.
        let attempts: Int

        func decode<Body: Decodable>(_ type: Body.Type = Body.self) -> Body? {
            try? JSONDecoder().decode(type, from: Data(body))
        }

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Sends until it is answered for good: with anything but 429 and 5xx.
    ///
    /// - Parameters:
    ///   - method: Of the request.
    ///   - path: And query, as on the wire.
    ///   - body: The same bytes each time.
    ///   - type: Of the body.
    ///   - deadline: When to give up.
    /// - Returns: The answer; nil at the deadline.
    func call(
        _ method: String,
        _ path: String,
        _ body: [UInt8] = [],
        type: String = "application/json",
        by deadline: ContinuousClock.Instant
    ) async -> Answer? {
        var attempts = 0
        while ContinuousClock.now < deadline, !Task.isCancelled {
            guard let member = await fleet.next() else {
                try? await Task.sleep(for: .milliseconds(100))
                continue
            }
            attempts += 1
            let request = request(member.connection, method, path, body, type)
            let response: HTTPResponse
            do {
                response = try await member.connection.send(request, by: .now + Self.attemptTimeout)
            } catch {
                tallies.count { $0.unanswered += 1 }
                try? await Task.sleep(for: .milliseconds(50))
                continue
            }
            tallies.count { $0.answers[response.status, default: 0] += 1 }
            guard response.status == 429 || response.status >= 500 else {
                return Answer(status: response.status, body: response.body, attempts: attempts)
            }
            judge(response, method, path)
            try? await Task.sleep(for: .milliseconds(200))
        }
        return nil
    }

    /// Only 503 and 429 are for a client to wait out, and they say how long.
    private func judge(_ response: HTTPResponse, _ method: String, _ path: String) {
        let call = "\(method) \(path.split(separator: "/").last.map(String.init) ?? path)"
        if ![429, 503].contains(response.status) {
            let text = String(decoding: response.body.prefix(200), as: UTF8.self)
            tallies.misdeed("\(call) was answered \(response.status): \(text)")
        } else if response.fields["retry-after"].flatMap({ Int($0) }) == nil {
            tallies.misdeed("\(call) was answered \(response.status) without Retry-After")
        }
    }

    private func request(
        _ connection: ServiceConnection,
        _ method: String,
        _ path: String,
        _ body: [UInt8],
        _ type: String
    ) -> HTTPRequest {
        var fields: HTTPFields = ["accept": "application/json", "authorization": "Bearer \(key)"]
        if !body.isEmpty { fields.append("content-type", type) }
        return HTTPRequest(
            method: method,
            scheme: connection.url.scheme,
            authority: connection.url.authority,
            target: path,
            fields: fields,
            body: body
        )
    }

    /// For what has to be there before a run begins.
    @discardableResult
    func make<Body: Decodable>(_ method: String, _ path: String, _ body: JSONOutput) async throws(Failure) -> Body {
        let answer = try await made(method, path, body)
        guard let value = answer.decode(Body.self) else {
            throw Failure(.failed, "\(method) \(path) was answered with something unexpected: \(answer.text)")
        }
        return value
    }

    func make(_ method: String, _ path: String, _ body: JSONOutput) async throws(Failure) {
        _ = try await made(method, path, body)
    }

    private func made(_ method: String, _ path: String, _ body: JSONOutput) async throws(Failure) -> Answer {
        guard let answer = await call(method, path, body.bytes, by: .now + .seconds(60)) else {
            throw Failure(.failed, "\(method) \(path) was not answered within a minute")
        }
        guard answer.status < 300 else {
            throw Failure(.failed, "\(method) \(path) was answered \(answer.status): \(answer.text)")
        }
        return answer
    }
}

/// What became of all calls.
final class CallTallies: Sendable {
    struct Values: Sendable {
        /// By status.
        var answers: [Int: Int] = [:]
        /// Lost connections and passed deadlines.
        var unanswered = 0
        /// Answers that the API should never give, the first few.
        var misdeeds: [String] = []
        var misdeedCount = 0
    }

    private let state = ThreadLock(Values())

    var values: Values { state.withLock { $0 } }

    func count(_ body: (inout Values) -> Void) { state.withLock { body(&$0) } }

    func misdeed(_ text: String) {
        state.withLock { values in
            values.misdeedCount += 1
            if values.misdeeds.count < 10 { values.misdeeds.append(text) }
        }
    }
}
