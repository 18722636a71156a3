internal import Glibc

/// Where lines go: a descriptor, in one format, from one level up. Subsystems write through a ``Logger``.
///
/// Nobody who writes a line ever waits for a reader: what does not fit is dropped and counted.
package final class LogOutput: Sendable {
    private let format: LogFormat
    private let level: LogLevel
    private let queue: LogQueue
    private let sampling: LogLock<LogSampler>
    /// Milliseconds since 1970.
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - descriptor: Standard error, say; it stays open.
    ///   - format: How lines are written.
    ///   - level: The least that is taken.
    ///   - now: Milliseconds since 1970.
    package init(
        to descriptor: Int32,
        _ format: LogFormat = .text,
        from level: LogLevel = .info,
        now: @escaping @Sendable () -> Int64 = { LogOutput.wallClock() }
    ) {
        self.format = format
        self.level = level
        self.now = now
        let queue = LogQueue(descriptor: descriptor)
        let sampling = LogLock(LogSampler())
        self.queue = queue
        self.sampling = sampling
        queue.startThread(
            dropped: { count in
                let fields = [(name: "dropped", value: LoggedValue.bare(String(count)))]
                return LogLine(
                    time: now(),
                    level: .warning,
                    subsystem: "log",
                    message: "lines were dropped: standard error is not read fast enough",
                    fields: fields
                ).bytes(as: format)
            },
            due: {
                let time = now()
                let remarks = sampling.withLock { $0.hasSuppressed ? $0.expire(now: time) : [] }
                return remarks.map { Self.bytes($0, time, format) }
            }
        )
    }

    deinit { queue.close() }

    /// Lines that could not be written, since the start.
    package var droppedLines: Int { queue.droppedLines }

    /// Blocks until what was logged is written, for `seconds` at most: for the process's end.
    package func flush(seconds: Int = 2) {
        let time = now()
        for remark in sampling.withLock({ $0.expire(now: time, all: true) }) {
            queue.add(Self.bytes(remark, time, format))
        }
        queue.flush(seconds: seconds)
    }

    func takes(_ level: LogLevel) -> Bool { level >= self.level }

    func write(_ kind: LogSampler.Kind, limit: Int, fields: () -> LogFields) {
        let time = now()
        let (isAdmitted, before) = sampling.withLock { $0.admit(kind, limit: limit, now: time) }
        if let before { queue.add(Self.bytes(before, time, format)) }
        guard isAdmitted else { return }
        let line = LogLine(
            time: time,
            level: kind.level,
            subsystem: kind.subsystem,
            message: kind.message,
            fields: fields().compactMap { name, value in value.map { (name, $0.logged) } }
        )
        queue.add(line.bytes(as: format))
    }

    private static func bytes(_ remark: LogSampler.Remark, _ time: Int64, _ format: LogFormat) -> [UInt8] {
        LogLine(
            time: time,
            level: remark.kind.level,
            subsystem: remark.kind.subsystem,
            message: remark.kind.message,
            fields: [("suppressed", .bare(String(remark.suppressed)))]
        ).bytes(as: format)
    }

    package static func wallClock() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
    }
}
