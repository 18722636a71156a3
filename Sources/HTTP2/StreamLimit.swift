/// Learns how many streams at once a peer takes where its SETTINGS do not say so: refused streams lower the limit, answers
/// raise it again.
///
/// A connection that starts slowly has at most twice as many streams open as were answered on it. A peer that answers a
/// request or two and then goes away costs at most three requests for each that it takes.
package struct StreamLimit: Sendable, Equatable {
    private enum State: Equatable {
        /// To: learnt.
        case unlimited
        /// To: unlimited, after enough answers; learnt, after a refusal.
        case starting
        /// `step`: how much the next rise adds; it doubles with each rise and falls to 1 with a refusal. To: unlimited.
        case learnt(answers: Int, step: Int)
    }

    /// Answers until a learnt limit rises. A peer with a lower limit then refuses one stream of so many.
    private static let answersToRise = 64
    /// No peer is known that has a limit above it and does not announce that.
    private static let enough = 1024

    private var state: State
    /// How many streams may be open.
    package private(set) var streams: Int

    package init(startsSlowly: Bool) {
        state = startsSlowly ? .starting : .unlimited
        streams = startsSlowly ? 1 : .max
    }

    /// A request was answered.
    package mutating func answered() {
        switch state {
        case .unlimited: return
        case .starting: streams = streams == 1 ? 2 : streams + 2
        case .learnt(let answers, let step):
            guard answers + 1 >= min(Self.answersToRise, 8 * streams) else {
                state = .learnt(answers: answers + 1, step: step)
                return
            }
            streams += step
            state = .learnt(answers: 0, step: step * 2)
        }
        guard streams >= Self.enough else { return }
        state = .unlimited
        streams = .max
    }

    /// The peer refused a stream.
    ///
    /// - Parameter open: How many streams are open without it. The peer refuses all above its limit, so the last refusal of
    ///   several leaves exactly the limit.
    package mutating func refused(open: Int) {
        streams = min(streams, max(1, open))
        state = .learnt(answers: 0, step: 1)
    }

    /// The peer announced a higher limit than before: that is its own word.
    package mutating func announcedHigher() {
        guard case .learnt = state else { return }
        state = .unlimited
        streams = .max
    }
}
