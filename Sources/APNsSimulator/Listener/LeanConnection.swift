import EventLoop
import HTTP2

/// The service's end of a connection in lean mode: every push is accepted unread. The stream limits are kept, and rules that
/// name neither a token nor a channel still act.
final class LeanConnection: HTTP2ServerHooks {
    private let service: SimulatedService
    private var limit: StreamLimit
    private var streamsToGoAway = 0
    /// Streams above are not answered: a GOAWAY says so.
    private var lastProcessed = Int32.max
    private let accepted = HTTP2HeaderBlock([":status": "200"])

    init(_ service: SimulatedService) {
        self.service = service
        limit = StreamLimit(
            initial: service.configuration.initialStreams,
            full: service.configuration.maxConcurrentStreams,
            lowersOnRejection: service.configuration.lowersStreamLimit
        )
    }

    func requestReceived(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) {
        requestCounted(on: stream, of: connection)
    }

    func requestCounted(on stream: Int32, of connection: isolated HTTP2ServerConnection) {
        guard stream <= lastProcessed else { return }
        let (hasFaults, effects) = service.assumeIsolated { $0.countLean() }
        if hasFaults {
            if effects.streamLimit != limit.pinned { announce(limit.pin(effects.streamLimit), of: connection) }
            if let (rule, fault) = effects.goAway { countToGoAway(stream, rule, fault, of: connection) }
            if stream <= lastProcessed { proceed(stream, effects, of: connection) }
        } else {
            if limit.pinned != nil { announce(limit.pin(nil), of: connection) }
            accept(stream, of: connection)
        }
    }

    func streamRefused(_ stream: Int32, acknowledged: Bool, of connection: isolated HTTP2ServerConnection) {
        guard acknowledged || !limit.wasAnswered else { return }
        service.assumeIsolated { $0.streamLimitBroken() }
    }

    func connectionClosed(_ reason: HTTP2ServerCloseReason, of connection: isolated HTTP2ServerConnection) {
        service.assumeIsolated { $0.connectionClosed(connection) }
    }

    private func accept(_ stream: Int32, of connection: isolated HTTP2ServerConnection) {
        connection.respond(stream: stream, head: accepted)
        announce(limit.answered(nil, isAuthenticated: true), of: connection)
    }

    private func proceed(
        _ stream: Int32,
        _ effects: FaultRules.Effects,
        of connection: isolated HTTP2ServerConnection
    ) {
        guard effects.delay > .zero else { return settle(stream, effects.settling, of: connection) }
        // Unsafe because the compiler does not know that the timer runs on the connection's loop.
        nonisolated(unsafe) let provider = self
        connection.loop.schedule(at: .now + effects.delay) { [connection] in
            connection.assumeIsolated { provider.settle(stream, effects.settling, of: $0) }
        }
    }

    /// Nothing is held back here: streams above the last one that came before the frame have their answers.
    private func countToGoAway(
        _ stream: Int32,
        _ rule: Int,
        _ fault: GoAwayFault,
        of connection: isolated HTTP2ServerConnection
    ) {
        streamsToGoAway += 1
        guard streamsToGoAway >= fault.afterStreams, service.assumeIsolated({ $0.useGoAway(rule) }) else { return }
        streamsToGoAway = 0
        lastProcessed = fault.lastStream ?? stream
        connection.submitGoAway(lastStream: lastProcessed, code: fault.code, debug: Array(fault.debug.utf8))
    }

    private func settle(_ stream: Int32, _ action: FaultAction?, of connection: isolated HTTP2ServerConnection) {
        switch action {
        case .reset(let code): connection.reset(stream: stream, code: code)
        case .silence: connection.setSilence(.deaf)
        case .close: connection.close()
        case .answer(let rejection):
            var head = HTTP2HeaderBlock([":status": String(rejection.status)])
            if let retryAfter = rejection.retryAfter { head.append("retry-after", retryAfter.utf8) }
            service.assumeIsolated { $0.refusedUnread(rejection, wasCounted: true) }
            connection.respond(stream: stream, head: head, body: rejection.body)
            announce(limit.answered(rejection, isAuthenticated: true), of: connection)
        case nil, .goAway, .delay, .streamLimit, .undelivered: accept(stream, of: connection)
        }
    }

    private func announce(_ limit: Int?, of connection: isolated HTTP2ServerConnection) {
        if let limit { connection.submitMaxConcurrentStreams(limit) }
    }
}
