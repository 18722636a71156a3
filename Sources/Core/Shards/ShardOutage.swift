/// A time in which APNs takes nothing of an app in an environment over a route. One row a route says so, and what fails
/// meanwhile is not tried phone by phone.
package struct Outage: Equatable, Sendable {
    /// The waits before the first probes; then the last one always.
    private static let waits: [Duration] = [.seconds(2), .seconds(5), .seconds(15)]
    /// Of so many outcomes it is enough that none was accepted; of fewer, all have to have failed for the moment.
    private static let enough = 20

    /// A probe has an outcome by then, or its sender is dead.
    package static let probeDeadline = Duration.seconds(30)

    package var failingSince: Moment
    /// Probes that failed.
    package var probes: Int
    /// One push tries the route then. While a probe is under way: when it has to be over.
    package var nextProbeAt: Moment

    package init(failingSince: Moment, probes: Int, nextProbeAt: Moment) {
        self.failingSince = failingSince
        self.probes = probes
        self.nextProbeAt = nextProbeAt
    }

    /// Regards the outcomes of a send, or of a probe.
    ///
    /// - Parameters:
    ///   - current: The outage that stands, if one does.
    ///   - accepted: Pushes that APNs took.
    ///   - failed: Pushes that ended in "later" or "unknown".
    ///   - others: Pushes that ended otherwise: for good, or as the phone's own matter.
    ///   - isProbe: What failed was the probe, and the next one is planned.
    ///   - now: The database's clock.
    /// - Returns: The outage that stands from now on; nil if none does. Where one has ended, whatever waits for it is
    ///   brought forward: due rows, and entries by ``Entry/bringForward(at:)``.
    package static func after(
        _ current: Outage?,
        accepted: Int,
        failed: Int,
        others: Int = 0,
        isProbe: Bool = false,
        now: Moment
    ) -> Outage? {
        if accepted > 0 { return nil }
        if var current {
            if isProbe {
                current.probes += 1
                current.nextProbeAt = now + waits[min(current.probes, waits.count - 1)]
            }
            return current
        }
        let begins = failed + others >= enough ? failed > 0 : failed > 0 && others == 0
        return begins ? Outage(failingSince: now, probes: 0, nextProbeAt: now + waits[0]) : nil
    }

    /// Claims the next probe, so that no other process tries the route meanwhile.
    ///
    /// - Returns: The outage as long as the probe is under way; nil: it is not time yet.
    package func claimingProbe(at now: Moment) -> Outage? {
        guard nextProbeAt <= now else { return nil }
        var claimed = self
        claimed.nextProbeAt = now + Self.probeDeadline
        return claimed
    }
}

extension Entry {
    /// Lets a due entry wait: for the next probe, or for a resumption (nil). Else claims would find it again and again.
    package mutating func postpone(until moment: Moment?, at now: Moment) {
        if isDue(at: now) && !isHeld(at: now) { dueAt = moment }
    }

    /// An outage has ended, or a pause: what waited is looked at once more, and only claims decide what is due.
    package mutating func bringForward(at now: Moment) {
        if !isHeld(at: now) { dueAt = now }
    }
}
