internal import Glibc

/// What lines wait in for the thread that writes them: the only one that a slow reader of standard error stops.
final class LogQueue: @unchecked Sendable {
    // Sendable unchecked: everything that changes is touched with the mutex held.
    /// Beyond, lines are dropped and counted. As many again may be in the writer's hands.
    static let maxLines = 1_024
    /// How often the thread looks whether something has to be said that no line brings along.
    private static let tick = 1

    private let descriptor: Int32
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Signalled when there is something to write, and at the end.
    private let work: UnsafeMutablePointer<pthread_cond_t>
    /// Signalled when everything is written.
    private let idle: UnsafeMutablePointer<pthread_cond_t>

    private var lines: [[UInt8]] = []
    private var isWriting = false
    private var isClosed = false
    private var unsaidDrops = 0
    private(set) var drops = 0

    init(descriptor: Int32) {
        self.descriptor = descriptor
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        work = .allocate(capacity: 1)
        work.initialize(to: pthread_cond_t())
        pthread_cond_init(work, nil)
        idle = .allocate(capacity: 1)
        idle.initialize(to: pthread_cond_t())
        pthread_cond_init(idle, nil)
    }

    deinit {
        pthread_cond_destroy(idle)
        idle.deallocate()
        pthread_cond_destroy(work)
        work.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    // MARK: - From any thread

    /// Takes a line, or counts it as dropped. Waits for nobody but other callers.
    func add(_ line: [UInt8]) {
        withLock {
            if lines.count < Self.maxLines, !isClosed {
                lines.append(line)
                pthread_cond_signal(work)
            } else {
                drops += 1
                unsaidDrops += 1
            }
        }
    }

    var droppedLines: Int { withLock { drops } }

    /// Blocks until everything that was added is written, for `seconds` at most.
    func flush(seconds: Int) {
        withLock {
            var end = Self.wallClock(plus: seconds)
            while !lines.isEmpty || isWriting {
                guard pthread_cond_timedwait(idle, mutex, &end) == 0 else { return }
            }
        }
    }

    /// The thread writes what is there and ends.
    func close() {
        withLock {
            isClosed = true
            pthread_cond_signal(work)
        }
    }

    // MARK: - The thread

    /// - Parameters:
    ///   - dropped: The line that says that so many were dropped.
    ///   - due: Called about once a second: lines whose time has come by itself.
    func startThread(dropped: @escaping @Sendable (Int) -> [UInt8], due: @escaping @Sendable () -> [[UInt8]]) {
        let body = ThreadBody { [self] in
            while let batch = take(dropped: dropped, due: due) {
                for line in batch where !write(line) { withLock { drops += 1 } }
            }
        }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(body)
        let code = pthread_create(&thread, nil, runThread, context.toOpaque())
        precondition(code == 0, "pthread_create: \(code)")
        pthread_detach(thread)
    }

    /// Waits for lines; nil at the end.
    private func take(dropped: (Int) -> [UInt8], due: () -> [[UInt8]]) -> [[UInt8]]? {
        var count = 0
        var batch: [[UInt8]] = []
        while true {
            let isOver = withLock {
                isWriting = false
                if lines.isEmpty {
                    pthread_cond_broadcast(idle)
                    if !isClosed {
                        var end = Self.wallClock(plus: Self.tick)
                        pthread_cond_timedwait(work, mutex, &end)
                    }
                }
                swap(&batch, &lines)
                swap(&count, &unsaidDrops)
                isWriting = !batch.isEmpty
                return isClosed && batch.isEmpty
            }
            if count > 0 { batch.append(dropped(count)) }
            if isOver { return batch.isEmpty ? nil : batch }
            // Not with the lock held: it takes the sampler's.
            batch += due()
            if !batch.isEmpty { return batch }
        }
    }

    /// - Returns: Whether it was written whole.
    private func write(_ line: [UInt8]) -> Bool {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                // Another process made the shared terminal or pipe non-blocking.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wanted, 1, -1)
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }

    // MARK: - Helpers

    private func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private static func wallClock(plus seconds: Int) -> timespec {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        now.tv_sec += seconds
        return now
    }
}

/// What a thread runs, in a box that C can carry.
private final class ThreadBody {
    let run: () -> Void

    init(_ run: @escaping () -> Void) { self.run = run }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Signals are for others; and SIGPIPE, from a reader that went away, ends as EPIPE.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    guard let context else { preconditionFailure("a thread without a body") }
    Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
