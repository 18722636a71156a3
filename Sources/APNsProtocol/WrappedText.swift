/// An identifier that passed its allow-list: what goes into a header, a path or a payload is made of these only.
package protocol WrappedText: Hashable, Sendable, CustomStringConvertible {
    /// The rule in words, for the person whose text was refused: "10 characters of A–Z and 0–9".
    static var rule: String { get }
    var text: String { get }
    /// `nil` when the text breaks ``rule``.
    init?(validating text: String)
}

extension WrappedText {
    package var description: String { text }
}

/// The classes of bytes that the allow-lists are made of.
enum ASCII {
    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
    static func isUpper(_ byte: UInt8) -> Bool { byte >= 0x41 && byte <= 0x5A }
    static func isLower(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7A }
    static func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || isUpper(byte) || isLower(byte) }
    static func isHex(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte >= 0x61 && byte <= 0x66) || (byte >= 0x41 && byte <= 0x46)
    }
}
