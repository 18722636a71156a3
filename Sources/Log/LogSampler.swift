/// Lets the first lines of a kind pass and counts the rest, so that one fault does not bury the others.
///
/// A kind is a level, a subsystem and a message; messages are constants of the code, so there are few kinds.
struct LogSampler {
    struct Kind: Hashable {
        let level: LogLevel
        let subsystem: String
        let message: String
    }

    /// Lines that were left out, once their time is over.
    struct Remark: Equatable {
        let kind: Kind
        let suppressed: Int
    }

    private struct Window {
        let start: Int64
        var said = 0
        var suppressed = 0

        func isOver(at now: Int64) -> Bool {
            // A clock that was set back ends it too.
            now - start >= LogSampler.window || now < start
        }
    }

    /// How long lines of one kind are counted together, in milliseconds.
    static let window: Int64 = 10_000

    private var windows: [Kind: Window] = [:]
    private(set) var hasSuppressed = false

    /// - Returns: Whether the line is written, and what has to be said about earlier ones first.
    mutating func admit(_ kind: Kind, limit: Int, now: Int64) -> (isAdmitted: Bool, before: Remark?) {
        var current = windows[kind] ?? Window(start: now)
        var before: Remark?
        if current.isOver(at: now) {
            if current.suppressed > 0 { before = Remark(kind: kind, suppressed: current.suppressed) }
            current = Window(start: now)
        }
        let isAdmitted = current.said < limit
        if isAdmitted { current.said += 1 } else { current.suppressed += 1 }
        windows[kind] = current
        hasSuppressed = hasSuppressed || !isAdmitted
        return (isAdmitted, before)
    }

    /// What has to be said because the time of its kind is over, or, at the end of the log, at once.
    mutating func expire(now: Int64, all: Bool = false) -> [Remark] {
        var remarks: [Remark] = []
        for (kind, window) in windows where all || window.isOver(at: now) {
            windows[kind] = nil
            if window.suppressed > 0 { remarks.append(Remark(kind: kind, suppressed: window.suppressed)) }
        }
        hasSuppressed = windows.values.contains { $0.suppressed > 0 }
        return remarks.sorted { ($0.kind.subsystem, $0.kind.message) < ($1.kind.subsystem, $1.kind.message) }
    }
}
