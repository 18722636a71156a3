internal import CLinux
internal import Glibc
internal import Synchronization

/// One thread that waits in `epoll`: readiness of descriptors, timers, and the jobs of the actors pinned to it.
///
/// An actor is pinned by returning the loop from `unownedExecutor`; its state is then touched by this thread alone, and
/// the handlers that it gives to ``watch(_:for:_:)`` and ``schedule(at:_:)`` run where it is isolated.
///
/// A turn of the loop runs, in this order: handlers of ready descriptors, due timers, jobs, end-of-turn closures.
///
/// A loop ends by ``shutdown()``, after the actors pinned to it are gone; until then its thread keeps it alive.
package final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // Sendable unchecked: `inbox` and `threadID` are synchronised; everything else belongs to the loop's thread, which
    // every entry point checks.

    package let name: String

    private let epoll: Int32
    private let wakeUp: Int32
    private let threadID = Atomic<UInt>(0)
    private let inbox = ThreadLock(Inbox())

    private var watches = WatchTable()
    private var timers = TimerQueue()
    private var turnEndings: [() -> Void] = []
    private var isStopping = false

    /// Starts the loop's thread.
    ///
    /// - Parameter name: Shown by `top -H` and debuggers, cut to 15 bytes.
    /// - Throws: ``EventLoopError/system(call:code:)`` when the process is out of descriptors or threads.
    package init(name: String) throws(EventLoopError) {
        self.name = name
        epoll = try EventLoopError.check("epoll_create1", epoll_create1(O_CLOEXEC))
        wakeUp = c_eventfd()
        guard wakeUp >= 0 else {
            let code = errno
            close(epoll)
            throw .system(call: "eventfd", code: code)
        }
        guard c_epoll_add(epoll, wakeUp, Interest.read.epollEvents, WatchTable.wakeUpKey) == 0 else {
            let code = errno
            closeDescriptors()
            throw .system(call: "epoll_ctl", code: code)
        }
        let code = startThread(self)
        guard code == 0 else {
            closeDescriptors()
            throw .system(call: "pthread_create", code: code)
        }
    }

    private func closeDescriptors() {
        close(epoll)
        close(wakeUp)
    }

    /// Stops the loop after the work that it was already given, and waits for its thread.
    ///
    /// Called on the loop itself, it stops without waiting. A job handed in later is a programmer's error and traps.
    package func shutdown() {
        let thread = inbox.withLock { inbox in
            inbox.stopRequested = true
            return inbox.takeThread()
        }
        signalWakeUp()
        guard let thread else { return }
        if isCurrent {
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }
}

// MARK: - Any thread

extension EventLoop {
    /// Whether the caller runs on the loop's thread.
    package var isCurrent: Bool { threadID.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs `body` on the loop soon, in the order handed in.
    package func perform(_ body: @escaping @Sendable () -> Void) {
        put(.body(body))
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        put(.job(UnownedJob(job)))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func checkIsolated() {
        precondition(isCurrent, "not on event loop \(name)")
    }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private func put(_ work: Work) {
        let mustWake = inbox.withLock { inbox in
            precondition(!inbox.isClosed, "work for event loop \(name) after its shutdown")
            inbox.work.append(work)
            defer { inbox.isSignalled = true }
            return !inbox.isSignalled
        }
        if mustWake, !isCurrent { signalWakeUp() }
    }

    private func signalWakeUp() {
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }
}

// MARK: - The loop's thread only

extension EventLoop {
    /// Calls `handler` whenever `descriptor` is ready, until ``unwatch(_:)``. Level-triggered.
    ///
    /// The descriptor stays the caller's, who calls ``unwatch(_:)`` before closing it.
    package func watch(
        _ descriptor: Int32,
        for interest: Interest,
        _ handler: @escaping (Readiness) -> Void
    ) throws(EventLoopError) -> Watch {
        checkIsolated()
        let watch = watches.insert(descriptor: descriptor, interest: interest, handler: handler)
        guard c_epoll_add(epoll, descriptor, interest.epollEvents, watch.key) == 0 else {
            let code = errno
            watches.remove(watch)
            throw .system(call: "epoll_ctl", code: code)
        }
        return watch
    }

    /// Changes what `watch` waits for. An empty interest still reports hang-ups.
    package func change(_ watch: Watch, to interest: Interest) {
        checkIsolated()
        guard watch.isActive, watch.interest != interest else { return }
        watch.interest = interest
        let result = c_epoll_modify(epoll, watch.descriptor, interest.epollEvents, watch.key)
        precondition(result == 0, "epoll_ctl of a watched descriptor: \(errno)")
    }

    /// Ends `watch`. Events that were already fetched for it are dropped. Once more is harmless.
    package func unwatch(_ watch: Watch) {
        checkIsolated()
        guard watch.isActive else { return }
        _ = c_epoll_remove(epoll, watch.descriptor)
        watches.remove(watch)
    }

    /// Calls `body` once, at `instant` or soon after it.
    @discardableResult
    package func schedule(at instant: ContinuousClock.Instant, _ body: @escaping () -> Void) -> TimerID {
        checkIsolated()
        return timers.insert(at: instant, body)
    }

    /// Forgets a timer; one that has fired already is ignored.
    package func cancel(_ timer: TimerID) {
        checkIsolated()
        timers.cancel(timer)
    }

    /// Calls `body` once, when this turn's events, timers and jobs have run: the place to write what they gathered.
    package func atEndOfTurn(_ body: @escaping () -> Void) {
        checkIsolated()
        turnEndings.append(body)
    }
}

// MARK: - Turns

extension EventLoop {
    /// The thread's body: turns until ``shutdown()``.
    fileprivate func run() {
        threadID.store(UInt(pthread_self()), ordering: .relaxed)
        let capacity = 256
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: capacity) { events in
            while !isStopping {
                runHandlers(waitForEvents(into: events))
                for body in timers.takeDue(now: .now) { body() }
                runJobs()
                runTurnEndings()
            }
        }
        closeDescriptors()
    }

    private func waitForEvents(into events: UnsafeMutableBufferPointer<epoll_event>) -> Slice<
        UnsafeMutableBufferPointer<epoll_event>
    > {
        var timeout = timespec()
        let hasWork = inbox.withLock { !$0.work.isEmpty || $0.stopRequested } || !turnEndings.isEmpty
        let wait = hasWork ? .zero : timers.timeToNext(now: .now)
        let count: Int32
        if let wait {
            let (seconds, attoseconds) = wait.components
            timeout.tv_sec = Int(seconds)
            timeout.tv_nsec = Int(attoseconds / 1_000_000_000)
            count = epoll_pwait2(epoll, events.baseAddress, Int32(events.count), &timeout, nil)
        } else {
            count = epoll_pwait2(epoll, events.baseAddress, Int32(events.count), nil, nil)
        }
        precondition(count >= 0 || errno == EINTR, "epoll_pwait2: \(errno)")
        return events[0..<max(0, Int(count))]
    }

    private func runHandlers(_ events: Slice<UnsafeMutableBufferPointer<epoll_event>>) {
        for event in events {
            if event.data.u64 == WatchTable.wakeUpKey {
                var counter: UInt64 = 0
                _ = read(wakeUp, &counter, 8)
            } else if let watch = watches.find(event.data.u64) {
                watch.handler(Readiness(epollEvents: event.events))
            }
        }
    }

    /// Jobs hand in further ones, as each `await` on this loop does: some rounds of them belong to the same turn, which spares
    /// a look at the descriptors after each. So few that descriptors and timers do not wait for long.
    private func runJobs() {
        for _ in 0..<8 {
            runInbox()
            guard !isStopping, inbox.withLock({ !$0.work.isEmpty }) else { return }
        }
    }

    private func runInbox() {
        let (work, mayStop) = inbox.withLock { inbox in
            inbox.isSignalled = false
            return (inbox.take(), inbox.stopRequested)
        }
        for item in work {
            switch item {
            case .job(let job):
                job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            case .body(let body): body()
            }
        }
        inbox.withLock { inbox in
            inbox.recycle(work)
            guard mayStop, inbox.work.isEmpty else { return }
            inbox.isClosed = true
            isStopping = true
        }
    }

    private func runTurnEndings() {
        guard !turnEndings.isEmpty else { return }
        let endings = turnEndings
        turnEndings.removeAll(keepingCapacity: true)
        for ending in endings { ending() }
    }
}

/// Starts the thread that runs `loop`, and hands it over to ``EventLoop/shutdown()``. Returns an `errno` code or 0.
private func startThread(_ loop: EventLoop) -> Int32 {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(loop)
    let code = pthread_create(
        &thread,
        nil,
        { context in
            guard let context else { return nil }
            let loop = Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue()
            pthread_setname_np(
                pthread_self(),
                loop.name.utf8.count < 16 ? loop.name : String(decoding: loop.name.utf8.prefix(15), as: UTF8.self)
            )
            loop.run()
            return nil
        },
        context.toOpaque()
    )
    guard code == 0 else {
        context.release()
        return code
    }
    loop.adoptThread(thread)
    return 0
}

extension EventLoop {
    fileprivate func adoptThread(_ thread: pthread_t) {
        inbox.withLock { $0.thread = thread }
    }
}

/// What other threads hand to the loop.
private struct Inbox {
    var work: [Work] = []
    private var spare: [Work] = []
    var isSignalled = false
    var stopRequested = false
    var isClosed = false
    var thread: pthread_t?

    mutating func take() -> [Work] {
        let taken = work
        work = spare
        spare = []
        return taken
    }

    /// Gives back the array of a turn, so that a busy loop does not allocate one a turn.
    mutating func recycle(_ taken: consuming [Work]) {
        taken.removeAll(keepingCapacity: true)
        spare = taken
    }

    /// The thread, for the one who joins it.
    mutating func takeThread() -> pthread_t? {
        defer { thread = nil }
        return thread
    }
}

private enum Work {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
}
