internal import Glibc

/// How lines are written.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For people: `2026-03-07T15:00:00.123Z warning apns: connection ended; cause=refused`.
    case text
    /// For programs: one JSON object a line.
    case json
}

/// One line, before it is written.
struct LogLine {
    /// A pipe takes so many bytes at once (PIPE_BUF): lines of several processes do not mix.
    static let maxBytes = 4_096
    /// Of one value; what is beyond is cut, and ends in an ellipsis.
    static let maxValueCharacters = 500

    /// Milliseconds since 1970.
    let time: Int64
    let level: LogLevel
    let subsystem: String
    let message: String
    var fields: [(name: String, value: LoggedValue)]

    /// The bytes with the line end: at most ``maxBytes``. Fields that find no room are left out, and that is said.
    func bytes(as format: LogFormat) -> [UInt8] {
        var text: String
        let end: String
        switch format {
        case .text:
            text = "\(Self.rfc3339(time)) \(level.rawValue) \(subsystem): \(message)"
            if !fields.isEmpty { text += ";" }
            end = "\n"
        case .json:
            text = "{\"time\":\"\(Self.rfc3339(time))\",\"level\":\"\(level.rawValue)\""
            text += ",\"subsystem\":\(LogText.json(subsystem)),\"message\":\(LogText.json(message))"
            end = "}\n"
        }
        let mark = Self.field("truncated", .bare("true"), as: format)
        var isWhole = true
        for (name, value) in fields {
            let field = Self.field(name, value, as: format)
            if text.utf8.count + field.utf8.count + mark.utf8.count + end.utf8.count <= Self.maxBytes {
                text += field
            } else {
                isWhole = false
            }
        }
        return Array((text + (isWhole ? "" : mark) + end).utf8)
    }

    private static func field(_ name: String, _ value: LoggedValue, as format: LogFormat) -> String {
        switch (format, value) {
        case (.text, .bare(let text)): " \(name)=\(text)"
        case (.text, .text(let text)): " \(name)=\(LogText.quotedIfNeeded(shown(text)))"
        case (.json, .bare(let text)): ",\(LogText.json(name)):\(text)"
        case (.json, .text(let text)): ",\(LogText.json(name)):\(LogText.json(shown(text)))"
        }
    }

    /// Without secrets, and not too long.
    private static func shown(_ text: String) -> String {
        // Foreign text may be as long as a body: what is cut off anyway is not searched.
        let scrubbed = Redaction.scrub(String(text.unicodeScalars.prefix(4 * maxValueCharacters)))
        guard scrubbed.unicodeScalars.count > maxValueCharacters else { return scrubbed }
        return String(scrubbed.unicodeScalars.prefix(maxValueCharacters)) + "…"
    }

    /// `2026-03-07T15:00:00.123Z`.
    static func rfc3339(_ milliseconds: Int64) -> String {
        var second = time_t(milliseconds / 1_000)
        var rest = milliseconds % 1_000
        if rest < 0 { (second, rest) = (second - 1, rest + 1_000) }
        var parts = tm()
        gmtime_r(&second, &parts)
        func padded(_ number: Int, to width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = [(Int(parts.tm_year) + 1_900, 4), (Int(parts.tm_mon) + 1, 2), (Int(parts.tm_mday), 2)]
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec]
        return date.map { padded($0.0, to: $0.1) }.joined(separator: "-") + "T"
            + time.map { padded(Int($0), to: 2) }.joined(separator: ":") + ".\(padded(Int(rest), to: 3))Z"
    }
}
