/// A decimal integer in ASCII; nil when it is none or does not fit.
func decimal(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    let isNegative = bytes.first == UInt8(ascii: "-")
    let digits = bytes.dropFirst(isNegative ? 1 : 0)
    guard !digits.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in digits {
        guard byte >= 48, byte <= 57 else { return nil }
        let (shifted, overflowed) = value.multipliedReportingOverflow(by: 10)
        let (next, overflowedToo) = shifted.subtractingReportingOverflow(Int64(byte - 48))
        guard !overflowed, !overflowedToo else { return nil }
        value = next
    }
    // Built up below zero, where one number more fits.
    if isNegative { return value }
    return value == .min ? nil : -value
}

/// PostgreSQL's hex form of `bytea`: `\x` and two digits a byte.
func unhex(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard
        bytes.count >= 2, bytes.count.isMultiple(of: 2),
        bytes[0] == UInt8(ascii: "\\"), bytes[1] == UInt8(ascii: "x")
    else { return nil }
    var isValid = true
    let values = [UInt8](unsafeUninitializedCapacity: bytes.count / 2 - 1) { output, count in
        for index in 0..<(bytes.count / 2 - 1) {
            guard let high = nibble(bytes[2 * index + 2]), let low = nibble(bytes[2 * index + 3]) else {
                isValid = false
                return
            }
            output[index] = high << 4 | low
            count = index + 1
        }
    }
    return isValid ? values : nil
}

private func nibble(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 97...102: byte - 87
    case 65...70: byte - 55
    default: nil
    }
}

/// Reads `{a,"b \"c\"",NULL}`; nil when it is not a one-dimensional array.
func parseArrayLiteral(_ text: String) -> [String?]? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 2, bytes[0] == UInt8(ascii: "{"), bytes[bytes.count - 1] == UInt8(ascii: "}") else {
        return nil
    }
    var elements: [String?] = []
    var index = 1
    let end = bytes.count - 1
    while index < end {
        var element: [UInt8] = []
        let isQuoted = bytes[index] == UInt8(ascii: "\"")
        if isQuoted {
            index += 1
            while index < end, bytes[index] != UInt8(ascii: "\"") {
                if bytes[index] == UInt8(ascii: "\\") { index += 1 }
                element.append(bytes[index])
                index += 1
            }
            index += 1
        } else {
            while index < end, bytes[index] != UInt8(ascii: ",") {
                if bytes[index] == UInt8(ascii: "{") { return nil }
                element.append(bytes[index])
                index += 1
            }
        }
        let value = String(decoding: element, as: UTF8.self)
        elements.append(!isQuoted && value == "NULL" ? nil : value)
        index += 1
    }
    return elements
}
