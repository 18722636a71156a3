import Crypto
import EventLoop
import Foundation
import HTTP2
import HTTPServer

/// The loops of this module's tests: they live as long as the test process, so no actor outlives its loop.
enum TestLoops {
    static let servers = [make("test-server-0"), make("test-server-1")]
    static let client = make("test-client")

    private static func make(_ name: String) -> EventLoop {
        do { return try EventLoop(name: name) } catch { preconditionFailure("\(error)") }
    }

    /// A certificate for `localhost` and its authority, in a folder of their own.
    static func makeCertificate() throws -> TestCertificate {
        let directory = FileManager.default.temporaryDirectory.appending(path: "touchline-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return try TestCertificate.make(directory: directory.path)
    }
}

/// A handler that echoes, and one that waits until it is let go or cancelled.
final class TestHandler: Sendable {
    private let state = ThreadLock(State())

    private struct State {
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var cancelled = 0
        var began = 0
        var watcher: CheckedContinuation<Void, Never>?

        mutating func takeWatcher() -> CheckedContinuation<Void, Never>? {
            defer { watcher = nil }
            return watcher
        }
    }

    var cancelled: Int { state.withLock { $0.cancelled } }

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        switch request.target {
        case "/wait":
            await wait()
            return HTTPResponse(status: 200, body: Array("waited".utf8))
        case "/large":
            return HTTPResponse(status: 200, body: Array(repeating: 0x78, count: 8 << 20))
        case "/nothing":
            return HTTPResponse(status: 204)
        default:
            let text = "\(request.method) \(request.target) \(request.body.count) \(request.fields["x-test"] ?? "-")\n"
            return HTTPResponse(status: 200, fields: ["content-type": "text/plain"], body: Array(text.utf8))
        }
    }

    private func wait() async {
        let number = state.withLock { state in
            state.began += 1
            return state.began
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let watcher = state.withLock { state in
                    state.waiting[number] = continuation
                    return state.takeWatcher()
                }
                watcher?.resume()
                if Task.isCancelled { release(number) }
            }
        } onCancel: {
            state.withLock { $0.cancelled += 1 }
            release(number)
        }
    }

    private func release(_ number: Int) {
        let (waiting, watcher) = state.withLock { state in
            (state.waiting.removeValue(forKey: number), state.takeWatcher())
        }
        waiting?.resume()
        watcher?.resume()
    }

    /// Lets everyone go who waits.
    func release() {
        for number in state.withLock({ Array($0.waiting.keys) }) { release(number) }
    }

    /// Returns when so many handlers wait, and so many were cancelled.
    func until(waiting: Int = 0, cancelled: Int = 0) async {
        while true {
            await withCheckedContinuation { continuation in
                let isReached = state.withLock { state in
                    guard state.waiting.count < waiting || state.cancelled < cancelled else { return true }
                    state.watcher = continuation
                    return false
                }
                if isReached { continuation.resume() }
            }
            if state.withLock({ $0.waiting.count >= waiting && $0.cancelled >= cancelled }) { return }
        }
    }
}

/// Starts a server on a free port of loopback, calls `body`, drains it at once.
func withServer(
    tls: TLSContext? = nil,
    limits: HTTPLimits = HTTPLimits(),
    handler: TestHandler = TestHandler(),
    streaming: @escaping HTTPStreamRouter = { _ in nil },
    _ body: (HTTPServer) async throws -> Void
) async throws {
    let configuration = HTTPServerConfiguration(address: .loopback(port: 0), tls: tls, limits: limits)
    let server = try await HTTPServer.start(
        configuration,
        loops: TestLoops.servers,
        handler: { await handler.answer($0) },
        streaming: streaming
    )
    do {
        try await body(server)
    } catch {
        await server.drain(by: .now)
        throw error
    }
    await server.drain(by: .now)
}
