package import EventLoop
internal import Glibc
package import Log

/// A log that writes into a pipe, with a clock of the test's own.
package final class LogFixture: Sendable {
    package let output: LogOutput
    package let clock: ThreadLock<Int64>
    private let readEnd: Int32
    /// Read, and not a whole line yet.
    private let rest = ThreadLock<[UInt8]>([])
    private let seen = ThreadLock<[String]>([])

    /// Saturday, 15:00 UTC.
    package static let start: Int64 = 1_772_895_600_123

    package init(_ format: LogFormat = .text, from level: LogLevel = .debug) {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe")
        readEnd = ends[0]
        // F_SETPIPE_SZ: 1 MB, so that a test may let a service run on before it reads.
        _ = fcntl(ends[1], 1031, 1 << 20)
        // Whoever still holds a logger may write: the output itself keeps its end open.
        let writeEnd = OpenDescriptor(ends[1])
        let clock = ThreadLock(Self.start)
        self.clock = clock
        output = LogOutput(to: ends[1], format, from: level) {
            withExtendedLifetime(writeEnd) { clock.withLock { $0 } }
        }
    }

    deinit { close(readEnd) }

    package func logger(_ subsystem: StaticString = "test") -> Logger { Logger(output, subsystem: subsystem) }

    /// Waits until a line holds each of `texts`, however long that takes: the test's own limit ends it.
    ///
    /// - Returns: The first such line.
    package func line(with texts: String...) async -> String {
        while !Task.isCancelled {
            let found = seen.withLock { seen in
                seen += read()
                return seen.first { line in texts.allSatisfy { line.contains($0) } }
            }
            if let found { return found }
            await Task.yield()
        }
        return ""
    }

    /// Every line that was read so far, the last of them included.
    package func all() -> [String] {
        output.flush(seconds: 30)
        return seen.withLock { seen in
            seen += read()
            return seen
        }
    }

    /// Everything that was logged, by line; a pipe holds 1 MB of it.
    package func lines() -> [String] {
        output.flush(seconds: 30)
        return read()
    }

    /// What is in the pipe, as far as its lines are whole.
    ///
    /// - Parameter waiting: Whether to wait for the next byte where there is none.
    /// - Returns: Without their ends.
    package func read(waiting: Bool = false) -> [String] {
        var count: Int32 = 0
        guard waiting || ioctl(readEnd, UInt(FIONREAD), &count) == 0 && count > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let read = Glibc.read(readEnd, &buffer, buffer.count)
        return rest.withLock { rest in
            rest += buffer.prefix(max(0, read))
            let end = rest.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            defer { rest.removeFirst(end) }
            return String(decoding: rest[..<end], as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }
}

private final class OpenDescriptor: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }
}
