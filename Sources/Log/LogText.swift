/// Values as they may stand in a line: whatever a peer sent, it neither ends the line nor moves the terminal's cursor.
enum LogText {
    /// As it is where it is one plain word; else in quotes, with escapes as in JSON.
    static func quotedIfNeeded(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { !isHarmful($0) && !" \"\\=;".unicodeScalars.contains($0) }
        return isPlain && !text.isEmpty ? text : json(text)
    }

    /// A JSON string (RFC 8259, 7), with everything escaped that does not show as itself.
    static func json(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where isHarmful(scalar):
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// Control characters, and what turns the direction of writing, breaks lines or cannot be seen.
    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: return true
        default: return false
        }
    }
}
