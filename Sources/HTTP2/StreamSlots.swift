/// How many streams one connection may open now: the smaller of the peer's limit and ours, one alone until the peer has
/// shown that it takes our credentials, none once it is draining.
package struct StreamSlots: Sendable {
    package enum Action: Equatable, Sendable {
        case none
        /// The last stream of a draining connection has ended.
        case closeConnection
    }

    private enum State: Equatable {
        /// Until a response proves the provider token valid, APNs takes one stream. To: active, draining, closed.
        case proving
        /// To: draining, closed.
        case active
        /// A GOAWAY came, or we want no more of it. To: closed, when the last stream ends.
        case draining
        case closed
    }

    private var state: State
    private let localLimit: Int
    private var remoteLimit: Int
    private var learntLimit: StreamLimit
    package private(set) var open = 0

    /// - Parameters:
    ///   - localLimit: Ours, at least 1.
    ///   - firstRequestAlone: Whether the first response is waited for before a second stream is opened.
    ///   - startsSlowly: Whether the streams at once grow with the answers.
    package init(localLimit: Int, firstRequestAlone: Bool, startsSlowly: Bool = false) {
        precondition(localLimit > 0, "a limit of \(localLimit) streams")
        self.localLimit = localLimit
        // nghttp2's own assumption until SETTINGS have come; RFC 9113, 6.5.2 recommends no less.
        remoteLimit = 100
        learntLimit = StreamLimit(startsSlowly: startsSlowly)
        state = firstRequestAlone ? .proving : .active
    }

    /// How many streams may be opened now.
    package var available: Int { available(leaving: 0) }

    /// How many of them somebody may open who leaves `reserve` free, though at most a sixteenth of the limit.
    package func available(leaving reserve: Int) -> Int {
        let limit =
            switch state {
            case .proving: min(1, localLimit, remoteLimit)
            case .active: min(min(localLimit, remoteLimit), learntLimit.streams)
            case .draining, .closed: 0
            }
        return max(0, limit - open - min(reserve, limit / 16))
    }

    package var isDraining: Bool { state == .draining || state == .closed }

    package mutating func opened() {
        precondition(available > 0, "no free stream: \(open) open of \(remoteLimit) and \(localLimit), \(state)")
        open += 1
    }

    /// How a stream has ended.
    package enum End: Equatable, Sendable {
        /// `provesAccess`: not for a fault of our credentials.
        case answered(provesAccess: Bool)
        /// REFUSED_STREAM.
        case refused
        case other
    }

    /// A stream has ended.
    ///
    /// - Returns: Whether that was the last of a draining connection.
    package mutating func ended(_ end: End) -> Action {
        precondition(open > 0, "a stream ended and none was open")
        open -= 1
        switch end {
        case .answered(let provesAccess):
            if provesAccess, state == .proving { state = .active }
            learntLimit.answered()
        // What a GOAWAY leaves out is refused too, and says nothing about a limit.
        case .refused: if !isDraining { learntLimit.refused(open: open) }
        case .other: break
        }
        return closeIfDone()
    }

    /// SETTINGS came; open streams above the new limit go on, new ones wait (RFC 9113, 5.1.2).
    package mutating func settingsReceived(streamLimit: Int) {
        if streamLimit > remoteLimit { learntLimit.announcedHigher() }
        remoteLimit = streamLimit
    }

    /// A GOAWAY came, whether its first step (no last stream yet) or its last, or we retire the connection ourselves.
    package mutating func drain() -> Action {
        if state != .closed { state = .draining }
        return closeIfDone()
    }

    private mutating func closeIfDone() -> Action {
        guard state == .draining, open == 0 else { return .none }
        state = .closed
        return .closeConnection
    }
}
