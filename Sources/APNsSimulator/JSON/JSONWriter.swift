/// Writes JSON text member by member; raw pieces go in unchanged.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    mutating func object(_ body: (inout JSONWriter) -> Void) { nest("{", "}", body) }

    mutating func array(_ body: (inout JSONWriter) -> Void) { nest("[", "]", body) }

    /// The name of the member whose value is written next.
    mutating func name(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: Array("\\n".utf8))
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes.append(contentsOf: Array("\\u00".utf8))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 0xF)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func integer(_ value: some BinaryInteger) { raw(Array(String(value).utf8)) }

    mutating func bool(_ value: Bool) { raw(Array((value ? "true" : "false").utf8)) }

    mutating func null() { raw(Array("null".utf8)) }

    /// A value that is JSON text already.
    mutating func raw(_ text: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: text)
    }

    mutating func member(_ name: String, _ value: String) {
        self.name(name)
        string(value)
    }

    mutating func member(_ name: String, _ value: some BinaryInteger) {
        self.name(name)
        integer(value)
    }

    mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        bool(value)
    }

    private mutating func nest(_ opening: Unicode.Scalar, _ closing: Unicode.Scalar, _ body: (inout JSONWriter) -> Void)
    {
        separate()
        bytes.append(UInt8(ascii: opening))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: closing))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}
