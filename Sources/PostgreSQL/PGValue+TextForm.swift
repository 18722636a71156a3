extension PGValue {
    /// As PostgreSQL's input functions read it; nil for NULL.
    var textForm: String? {
        switch self {
        case .null: nil
        case .text(let text): text
        case .int(let number): String(number)
        case .bool(let flag): flag ? "t" : "f"
        case .double(let number): doubleText(number)
        case .timestamp(let time): time.postgreSQL
        case .bytes(let bytes): hexText(bytes)
        case .textArray(let texts): arrayLiteral(texts) { quoted($0) }
        case .int8Array(let numbers): arrayLiteral(numbers) { String($0) }
        case .boolArray(let flags): arrayLiteral(flags) { $0 ? "t" : "f" }
        case .timestampArray(let times): arrayLiteral(times) { "\"\($0.postgreSQL)\"" }
        case .byteaArray(let values): arrayLiteral(values) { quoted(hexText($0)) }
        }
    }
}

private func doubleText(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
    return String(number)
}

private func hexText(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = [UInt8(ascii: "\\"), UInt8(ascii: "x")]
    text.reserveCapacity(2 * bytes.count + 2)
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}

private func arrayLiteral<Element>(_ elements: [Element?], _ text: (Element) -> String) -> String {
    var literal = "{"
    for (index, element) in elements.enumerated() {
        if index > 0 { literal += "," }
        literal += element.map(text) ?? "NULL"
    }
    return literal + "}"
}

/// An element of an array literal: always quoted, with `"` and `\` escaped.
private func quoted(_ text: String) -> String {
    var bytes: [UInt8] = [UInt8(ascii: "\"")]
    bytes.reserveCapacity(text.utf8.count + 2)
    for byte in text.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
        bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
}
