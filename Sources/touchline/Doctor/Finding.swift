internal import APNsProtocol
internal import Core

/// What the doctor found out about one part.
struct Finding: Sendable {
    enum State: String, Sendable {
        case good = "ok"
        case bad = "wrong"
        /// It works, and may not for ever.
        case warning = "warn"
        /// It could not be tried, and that is no fault.
        case skipped
    }

    /// `database`, `apns production`.
    let part: String
    let state: State
    /// What is so, in a sentence.
    let detail: String
    /// What to do, for what is wrong or a warning.
    let hint: String?
    /// The section of TROUBLES.md.
    let trouble: Trouble?

    static func good(_ part: String, _ detail: String) -> Finding {
        Finding(part: part, state: .good, detail: detail, hint: nil, trouble: nil)
    }

    static func skipped(_ part: String, _ detail: String) -> Finding {
        Finding(part: part, state: .skipped, detail: detail, hint: nil, trouble: nil)
    }

    static func bad(_ part: String, _ detail: String, hint: String, _ trouble: Trouble) -> Finding {
        Finding(part: part, state: .bad, detail: detail, hint: hint, trouble: trouble)
    }

    static func warning(_ part: String, _ detail: String, hint: String, _ trouble: Trouble) -> Finding {
        Finding(part: part, state: .warning, detail: detail, hint: hint, trouble: trouble)
    }

    /// Lines within 80 columns.
    var text: String {
        var rows = [(label: "\(state.rawValue)".padded(to: 7), text: "\(part): \(detail)")]
        if let hint { rows.append((label: "", text: hint)) }
        if let trouble { rows.append((label: "", text: "See \(trouble.place)")) }
        return LabelledText.text(rows)
    }

    var json: JSONOutput {
        [
            "part": .string(part), "state": .string(state.rawValue), "detail": .string(detail), "hint": .string(hint),
            "more": .string(trouble?.place),
        ]
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
