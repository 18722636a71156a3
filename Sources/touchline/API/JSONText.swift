/// Writes JSON as text: members stay in the order in which they are given.
enum JSONText {
    /// A string with its quotes. Only what must be escaped is (RFC 8259, 7).
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// An object; the values are JSON already.
    static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { string($0.name) + ":" + $0.value }.joined(separator: ",") + "}"
    }

    /// An array; the values are JSON already.
    static func array(_ values: [String]) -> String { "[" + values.joined(separator: ",") + "]" }
}
