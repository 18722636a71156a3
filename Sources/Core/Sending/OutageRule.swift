/// What became of the pushes of one send, as far as it says whether APNs works.
package struct RouteTally: Equatable, Sendable {
    /// Pushes that APNs answered for good: accepted, or refused for a reason of their own.
    package private(set) var answered = 0
    /// Pushes that ended in "later" or "unknown".
    package private(set) var failed = 0
    /// Whether all failures are lost connections, deadlines and servers that shut down: another connection may do, so that
    /// those are over sooner than an outage of Apple's.
    package private(set) var isConnectionLoss = true

    package init() {}

    package init(_ dispositions: some Sequence<Disposition>) {
        for disposition in dispositions {
            guard case .retry(let failure) = disposition else {
                answered += 1
                continue
            }
            failed += 1
            if case .later(let after) = failure, after != .zero { isConnectionLoss = false }
        }
    }
}

/// When failures are an outage of a route, and who tries whether it is over.
///
/// A route is an app's pushes to channels, or to tokens, in one environment. An outage is one thing, whatever versions pass
/// meanwhile: nobody counts attempts of targets. While it stands one push at a time probes it, and the first answer brings
/// everything that waits forward.
package enum OutageRule {
    /// So many failures and no answer are an outage, whatever came before.
    package static let manyFailures = 20
    /// Fewer are one only where nothing was answered for so long: a single phone or channel that fails waits by itself.
    package static let quiet = Duration.seconds(5)
    /// Between the beginning and the first probe, and then between probes; the last one repeats.
    package static let pauses: [Duration] = [.seconds(2), .seconds(5), .seconds(15)]
    /// The first pause after lost connections.
    package static let reconnecting = Duration.milliseconds(500)
    /// How long nobody else probes while a probe is under way: longer than a push may take.
    package static let probeLease = Duration.seconds(20)

    /// Whether a send's outcomes are an outage.
    ///
    /// - Parameters:
    ///   - tally: Of the send.
    ///   - isWhole: It was all of a target; a few phones by themselves say nothing about the others.
    ///   - sinceAnswer: How long ago the route answered any push; nil: not in living memory.
    /// - Returns: Whether one begins.
    package static func isOutage(_ tally: RouteTally, isWhole: Bool, sinceAnswer: Duration?) -> Bool {
        guard tally.answered == 0, tally.failed > 0 else { return false }
        if tally.failed >= manyFailures { return true }
        return isWhole && (sinceAnswer.map { $0 >= quiet } ?? true)
    }

    /// What somebody who is about to send may do.
    package enum Gate: Equatable, Sendable {
        case send
        /// One push, to see whether the outage is over. It is to be taken by compare-and-set.
        case probe
        case wait(Duration)
    }

    /// - Parameters:
    ///   - nextProbe: How long until the route is probed next, not positive: now; nil: there is no outage.
    ///   - isUntriedKey: The target has not been sent its key version yet: it is worth a push of its own at once.
    /// - Returns: What it may do.
    package static func gate(nextProbe: Duration?, isUntriedKey: Bool) -> Gate {
        guard let nextProbe else { return .send }
        if nextProbe <= .zero { return .probe }
        return isUntriedKey ? .send : .wait(nextProbe)
    }
}
