internal import Glibc

/// Why a program could not be started.
package struct ChildProcessError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

/// A program that this process started, waited for on a thread of its own.
///
/// It inherits nothing but what its options say: of descriptors only the three standard ones, and signals as at login.
package final class ChildProcess: Sendable {
    package enum Output: Sendable {
        case inherited
        case discarded
        /// Appended to a file of mode 0600.
        case file(String)
        /// Kept, the last 64 KiB of it, for ``output``.
        case kept
    }

    package enum Ending: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)

        package var isSuccess: Bool { self == .exited(0) }
    }

    package struct Options: Sendable {
        /// An absolute path.
        package var executable: String
        package var arguments: [String]
        /// Nil: this process's own.
        package var environment: [String: String]?
        package var directory = "/"
        package var output = Output.inherited
        /// The read end of a pipe that becomes its standard input; `/dev/null` without one. Stays the caller's to close.
        package var input: Int32?
        /// A session of its own: an interrupt typed at the terminal does not reach it, only ``ChildProcess/signal(_:)``.
        package var hasOwnSession = false
        /// As root: the user that it runs as, through `setpriv`.
        package var user: String?

        package init(_ executable: String, _ arguments: [String] = []) {
            self.executable = executable
            self.arguments = arguments
        }
    }

    package let processID: Int32
    private let state = ThreadLock(State())

    /// What a program has used, and those of its own children that it waited for. Source: wait4(2), getrusage(2).
    package struct Usage: Equatable, Sendable {
        /// User and system.
        package var cpu: Duration
        package var peakBytes: Int
    }

    private struct State {
        var ending: Ending?
        var usage: Usage?
        var output: [UInt8] = []
        var waiters: [(number: Int, continuation: CheckedContinuation<Ending?, Never>)] = []
        var lastWaiter = 0
    }

    private init(processID: Int32) { self.processID = processID }

    /// Starts a program.
    ///
    /// - Parameter options: What to run, and how.
    /// - Returns: The running program; it goes on when the value is let go of.
    /// - Throws: ``ChildProcessError`` when there is no such program, or no process or thread left.
    package static func start(_ options: Options) throws(ChildProcessError) -> ChildProcess {
        let launch = try Launch(options)
        let process = ChildProcess(processID: launch.processID)
        guard startDetachedThread({ process.follow(output: launch.outputEnd) }) else {
            throw ChildProcessError(description: "no thread left to wait for \(options.executable)")
        }
        return process
    }

    /// How it ended; nil while it runs.
    package var ending: Ending? { state.withLock { $0.ending } }

    /// What it has used; nil while it runs.
    package var usage: Usage? { state.withLock { $0.usage } }

    /// What it wrote, when its output is kept: complete once it has ended.
    package var output: String { state.withLock { String(decoding: $0.output, as: UTF8.self) } }

    /// Sends a signal, unless it has ended.
    package func signal(_ number: Int32) {
        // Under the lock: its number cannot have been given to another process yet.
        state.withLock { state in
            if state.ending == nil { _ = kill(processID, number) }
        }
    }

    /// Waits for the end.
    ///
    /// - Parameter deadline: When to give up; nil waits as long as it takes.
    /// - Returns: How it ended, or nil at the deadline.
    @discardableResult
    package func waitForEnd(by deadline: ContinuousClock.Instant? = nil) async -> Ending? {
        guard let deadline else { return await waitForEnd(as: nil) }
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        // Not a child task: the deadline holds in a cancelled task too.
        let timer = Task {
            guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            giveUp(number)
        }
        defer { timer.cancel() }
        return await waitForEnd(as: number)
    }

    private func waitForEnd(as number: Int?) async -> Ending? {
        await withCheckedContinuation { continuation in
            let ending: Ending? = state.withLock { state in
                if state.ending == nil { state.waiters.append((number ?? 0, continuation)) }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending) }
        }
    }

    private func giveUp(_ number: Int) {
        let waiter: CheckedContinuation<Ending?, Never>? = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.number == number }) else { return nil }
            return state.waiters.remove(at: index).continuation
        }
        waiter?.resume(returning: nil)
    }

    /// The thread's body: reads the output, then waits for the end.
    private func follow(output descriptor: Int32?) {
        if let descriptor {
            readAll(descriptor) { bytes in
                state.withLock { state in
                    state.output.append(contentsOf: bytes)
                    if state.output.count > 64 * 1_024 { state.output.removeFirst(state.output.count - 64 * 1_024) }
                }
            }
            close(descriptor)
        }
        // First without reaping, so that the number stays taken until `ending` is set.
        var info = siginfo_t()
        while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (ending, waiters) = state.withLock { state in
            var status: Int32 = 0
            var used = rusage()
            while wait4(processID, &status, 0, &used) < 0, errno == EINTR {}
            state.usage = Usage(
                cpu: .seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec)
                    + .microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec),
                peakBytes: used.ru_maxrss * 1_024
            )
            let signal = status & 0x7F
            let ending: Ending = signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
            state.ending = ending
            defer { state.waiters = [] }
            return (ending, state.waiters)
        }
        for waiter in waiters { waiter.continuation.resume(returning: ending) }
    }
}

private func readAll(_ descriptor: Int32, _ body: (ArraySlice<UInt8>) -> Void) {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count > 0 { body(buffer[0..<count]) }
        if count == 0 || count < 0 && errno != EINTR { return }
    }
}

extension ChildProcess {
    /// Runs a program to its end, its output kept.
    ///
    /// - Returns: How it ended, nil when it was killed at the deadline; and what it wrote.
    package static func run(
        _ options: Options,
        by deadline: ContinuousClock.Instant
    ) async throws(ChildProcessError) -> (ending: Ending?, output: String) {
        var options = options
        options.output = .kept
        let process = try start(options)
        let ending = await process.waitForEnd(by: deadline)
        if ending == nil {
            process.signal(SIGKILL)
            await process.waitForEnd()
        }
        return (ending, process.output)
    }

    /// The first of `directories` and then of `PATH` that holds an executable file of this name.
    package static func find(_ name: String, in directories: [String] = []) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        let candidates = directories + path.split(separator: ":").map(String.init)
        return candidates.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
