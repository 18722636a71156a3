/// The bundle id of an app, bare: without a topic's suffix.
package struct BundleID: WrappedText {
    package static let rule = "1 to 155 characters of A–Z, a–z, 0–9, dot and hyphen"
    package let text: String

    package init?(validating text: String) {
        let bytes = text.utf8
        guard (1...155).contains(bytes.count),
            bytes.allSatisfy({ ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") })
        else { return nil }
        self.text = text
    }

    /// The topic of Live Activity pushes to single tokens.
    package var liveActivityTopic: String { text + ".push-type.liveactivity" }
}

/// An Apple developer team.
package struct TeamID: WrappedText {
    package static let rule = "10 characters of A–Z and 0–9"
    package let text: String

    package init?(validating text: String) {
        guard isTenUpperOrDigit(text) else { return nil }
        self.text = text
    }
}

/// The id of a `.p8` key.
package struct KeyID: WrappedText {
    package static let rule = "10 characters of A–Z and 0–9"
    package let text: String

    package init?(validating text: String) {
        guard isTenUpperOrDigit(text) else { return nil }
        self.text = text
    }
}

/// An update token or a push-to-start token, in lower-case hexadecimal. Apple promises no length.
package struct DeviceToken: WrappedText {
    package static let rule = "an even number of hexadecimal digits, at most 512"
    package let text: String

    /// Takes also what backends make of a `Data`'s description: `<0A1B2C3D 4E5F…>`. The same token is the same text then.
    package init?(validating text: String) {
        // Without capitals, brackets and spaces, as most backends send it, the text is taken as it is.
        if Self.isPlain(text.utf8) {
            self.text = text
            return
        }
        guard text.utf8.count <= 2 * Self.mostDigits else { return nil }
        var bytes = Array(text.utf8).filter { $0 != UInt8(ascii: " ") }
        if bytes.count > 2, Self.brackets.contains(where: { bytes.first == $0.open && bytes.last == $0.close }) {
            bytes = Array(bytes.dropFirst().dropLast())
        }
        bytes = bytes.map { ASCII.isUpper($0) ? $0 | 0x20 : $0 }
        guard Self.isPlain(bytes) else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    private static let mostDigits = 512
    private static let brackets: [(open: UInt8, close: UInt8)] = [
        (UInt8(ascii: "<"), UInt8(ascii: ">")), (UInt8(ascii: "["), UInt8(ascii: "]")),
    ]

    private static func isPlain(_ bytes: some Collection<UInt8>) -> Bool {
        (2...mostDigits).contains(bytes.count) && bytes.count % 2 == 0
            && bytes.allSatisfy { ASCII.isHex($0) && !ASCII.isUpper($0) }
    }
}

/// The id of a broadcast channel as APNs wrote it: base64, of no promised length.
package struct ChannelID: WrappedText {
    package static let rule = "base64 with padding, at most 256 characters"
    package let text: String

    package init?(validating text: String) {
        let bytes = Array(text.utf8)
        guard (1...256).contains(bytes.count) else { return nil }
        let digits = bytes.prefix { $0 != UInt8(ascii: "=") }
        guard !digits.isEmpty, bytes.count - digits.count <= 2,
            digits.allSatisfy({ ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }),
            bytes[digits.count...].allSatisfy({ $0 == UInt8(ascii: "=") })
        else { return nil }
        self.text = text
    }
}

/// The unqualified name of an `ActivityAttributes` type.
package struct AttributesType: WrappedText {
    package static let rule = "a Swift identifier of at most 128 bytes"
    package let text: String

    package init?(validating text: String) {
        guard (1...128).contains(text.utf8.count), let first = text.unicodeScalars.first,
            first == "_" || first.properties.isXIDStart,
            text.unicodeScalars.dropFirst().allSatisfy({ $0.properties.isXIDContinue })
        else { return nil }
        self.text = text
    }
}

/// What a collapse id must be to fit its header.
package struct CollapseID: WrappedText {
    package static let rule = "1 to 64 printable ASCII characters"
    package let text: String

    package init?(validating text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        self.text = text
    }
}

private func isTenUpperOrDigit(_ text: String) -> Bool {
    text.utf8.count == 10 && text.utf8.allSatisfy { ASCII.isUpper($0) || ASCII.isDigit($0) }
}
