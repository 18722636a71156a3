internal import CLinux
internal import Glibc
internal import Synchronization

/// Signals of the process as an asynchronous sequence.
package enum SignalWatcher {
    /// The write end of the pipe through which the handler hands on a signal's number.
    private static let pipeEnd = Atomic<Int32>(-1)

    /// Catches `signals` from now on, and ignores SIGPIPE. Once a process.
    ///
    /// - Returns: The numbers as they arrive; the newest 16 are kept while nobody reads.
    /// - Throws: ``EventLoopError`` without a descriptor left.
    package static func start(_ signals: [Int32], on loop: EventLoop) throws(EventLoopError) -> AsyncStream<Int32> {
        var ends: [Int32] = [0, 0]
        _ = try EventLoopError.check("pipe2", pipe2(&ends, O_CLOEXEC | O_NONBLOCK))
        let readEnd = ends[0]
        precondition(pipeEnd.exchange(ends[1], ordering: .relaxed) == -1, "signals are watched already")
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(16))
        loop.perform {
            // It lives as long as the process does.
            _ = try? loop.watch(readEnd, for: .read) { _ in
                var number: UInt8 = 0
                while read(readEnd, &number, 1) == 1 { continuation.yield(Int32(number)) }
            }
        }
        signal(SIGPIPE, SIG_IGN)
        for number in signals {
            var action = sigaction()
            // Only `write` and an atomic load, which are safe inside a signal handler.
            action.__sigaction_handler.sa_handler = { number in
                let savedErrno = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(SignalWatcher.pipeEnd.load(ordering: .relaxed), &byte, 1)
                errno = savedErrno
            }
            action.sa_flags = SA_RESTART
            _ = try EventLoopError.check("sigaction", sigaction(number, &action, nil))
        }
        return stream
    }

    /// A write to a closed socket must end in an error, not in the process's end.
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }
}
