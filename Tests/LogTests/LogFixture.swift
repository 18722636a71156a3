import EventLoop
import Glibc
import Log

/// A log that writes into a pipe, with a clock of the test's own.
final class LogFixture: Sendable {
    let output: LogOutput
    let clock: ThreadLock<Int64>
    private let ends: (read: Int32, write: Int32)
    /// Read, and not a whole line yet.
    private let rest = ThreadLock<[UInt8]>([])

    /// Saturday, 15:00 UTC.
    static let start: Int64 = 1_772_895_600_123

    init(_ format: LogFormat = .text, from level: LogLevel = .debug) {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe")
        self.ends = (ends[0], ends[1])
        let clock = ThreadLock(Self.start)
        self.clock = clock
        output = LogOutput(to: ends[1], format, from: level, now: { clock.withLock { $0 } })
    }

    deinit {
        close(ends.read)
        close(ends.write)
    }

    /// Everything that was logged, by line; a pipe holds 64 KB of it.
    func lines() -> [String] {
        output.flush(seconds: 30)
        return read()
    }

    /// What is in the pipe, as far as its lines are whole.
    ///
    /// - Parameter waiting: Whether to wait for the next byte where there is none.
    /// - Returns: Without their ends.
    func read(waiting: Bool = false) -> [String] {
        var count: Int32 = 0
        guard waiting || ioctl(ends.read, UInt(FIONREAD), &count) == 0 && count > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let read = Glibc.read(ends.read, &buffer, buffer.count)
        return rest.withLock { rest in
            rest += buffer.prefix(max(0, read))
            let end = rest.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            defer { rest.removeFirst(end) }
            return String(decoding: rest[..<end], as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }
}
