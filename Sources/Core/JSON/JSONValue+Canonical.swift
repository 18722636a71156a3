extension JSONValue {
    /// The value in the one spelling that all equal values share: two values are equal exactly if these bytes are.
    ///
    /// Equal are objects with equal members in any order, texts with the same Unicode scalars however they are escaped, and
    /// numbers of the same decimal value: `1.10`, `1.1` and `11e-1`, or `1` and `1.0`. White space does not count. Numbers are
    /// not rounded on the way, texts are not normalised (`é` is not `e` with U+0301), and `null` is not a missing member.
    package var canonical: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        appendCanonical(to: &bytes)
        return bytes
    }

    func appendCanonical(to bytes: inout [UInt8]) {
        switch content {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let digits): bytes += CanonicalNumber(digits).bytes
        case .string(let text): JSONOutput.appendQuoted(text, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.appendCanonical(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members): Self.appendCanonical(members, to: &bytes)
        }
    }

    static func appendCanonical(_ members: [JSONMember], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        let sorted = members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        for (index, member) in sorted.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONOutput.appendQuoted(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            member.value.appendCanonical(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}

/// A JSON number's decimal value: sign, digits without zeros at either end, and a power of ten. Zero has no sign.
private struct CanonicalNumber {
    let bytes: [UInt8]

    /// - Parameter text: A number by JSON's grammar.
    init(_ text: String) {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let parts = text.utf8.dropFirst(isNegative ? 1 : 0)
            .split(maxSplits: 1, omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
        let decimal = parts[0].split(separator: UInt8(ascii: "."))
        let fraction = decimal.count > 1 ? Array(decimal[1]) : []
        var digits = Array((Array(decimal[0]) + fraction).drop { $0 == UInt8(ascii: "0") })
        guard !digits.isEmpty else {
            bytes = [UInt8(ascii: "0")]
            return
        }
        var power = -fraction.count
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            power += 1
        }
        var bytes: [UInt8] = (isNegative ? [UInt8(ascii: "-")] : []) + digits
        let written = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : "0"
        if let exponent = Int(written), let sum = Self.sum(exponent, power) {
            if sum != 0 { bytes += "e\(sum)".utf8 }
        } else {
            // A power of ten beyond any Double: kept as it is spelled, and equal to nothing that is spelled otherwise.
            bytes += "e\(power)e\(written)".utf8
        }
        self.bytes = bytes
    }

    private static func sum(_ left: Int, _ right: Int) -> Int? {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? nil : sum
    }
}
