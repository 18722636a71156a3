package import EventLoop

/// One deadline that is moved often and passes rarely: moving it later costs no timer.
///
/// Belongs to the loop's thread. The timer fires at the time that was set first, sees the later one and waits on.
package final class ServerDeadline {
    private let loop: EventLoop
    private var deadline: ContinuousClock.Instant?
    private var timer: (id: TimerID, at: ContinuousClock.Instant)?
    package var handler: () -> Void = {}

    package init(loop: EventLoop) {
        self.loop = loop
    }

    package func set(_ instant: ContinuousClock.Instant) {
        deadline = instant
        if let timer {
            if timer.at <= instant { return }
            loop.cancel(timer.id)
        }
        let id = loop.schedule(at: instant) { [weak self] in self?.fire() }
        timer = (id, instant)
    }

    package func cancel() {
        deadline = nil
        if let timer { loop.cancel(timer.id) }
        timer = nil
    }

    private func fire() {
        timer = nil
        guard let deadline else { return }
        if deadline > .now { return set(deadline) }
        self.deadline = nil
        handler()
    }
}
