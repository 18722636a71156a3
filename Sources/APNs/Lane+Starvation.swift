internal import EventLoop
internal import HTTP2

/// A peer that allows so many connections at a time: lanes hand theirs on.
extension Lane {
    /// Called when pushes wait that no connection can take.
    func noteStarvation(now: ContinuousClock.Instant) {
        // What is under way may yet be answered.
        guard !queue.isEmpty, !connections.contains(where: { $0.isProven && !$0.connection.isDraining }) else { return }
        switch starvation.waits(now: now) {
        case .wait(let instant): wake(at: instant)
        case .ask: hooks.starves()
        }
    }

    /// Gives a connection up for another lane that has none: one that idles, or else, if that must be, one at work, whose
    /// requests may finish. The lane opens none in its place for a moment.
    ///
    /// - Returns: Whether it did.
    func giveWay(evenAtWork: Bool) -> Bool {
        let usable = connections.filter { !$0.connection.isDraining && $0.isProven }
        guard let entry = usable.min(by: { $0.connection.openStreams < $1.connection.openStreams }),
            entry.connection.openStreams == 0 || evenAtWork
        else { return false }
        growth.hold(until: .now + configuration.starvationPatience)
        entry.retire(.idle)
        return true
    }

    /// Another lane has given way: its connection closes just now.
    func mayOpen() {
        growth.resume(at: .now + configuration.firstReconnect / 2)
        scheduleDispatch()
    }
}
