package import APNsProtocol

/// An identifier that a tenant chose, compared byte for byte.
///
/// Swift's `String` calls two texts equal that differ in their Unicode normal form; PostgreSQL does not, and neither
/// may two matches become one.
package protocol TenantText: WrappedText {
    static var longest: Int { get }
    init(unchecked text: String)
}

extension TenantText {
    package static var rule: String { "1 to \(longest) bytes of UTF-8 without NUL" }

    package init?(validating text: String) {
        guard (1...Self.longest).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        self.init(unchecked: text)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

/// A fixture, by the tenant's own id.
package struct MatchID: TenantText {
    package static let longest = 200
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// An event, by the feed's own id.
package struct EventID: TenantText {
    package static let longest = 200
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// One Live Activity on one phone, by the id that the app gave it.
package struct ActivityID: TenantText {
    package static let longest = 200
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// A phone, by the tenant's own id.
package struct DeviceID: TenantText {
    package static let longest = 200
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// What devices follow: `team:arg`, `competition:wc-2026`, `match:…`.
package struct Topic: TenantText {
    package static let longest = 200
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// A tenant's id, as Touchline made it: `t_` and lower-case letters and digits.
package struct TenantID: WrappedText {
    package static let rule = "t_ and up to 40 lower-case letters and digits"
    package let text: String

    package init?(validating text: String) {
        guard isMadeName(text, prefix: "t_") else { return nil }
        self.text = text
    }
}

/// An API key's public id: `k_` and lower-case letters and digits.
package struct APIKeyID: WrappedText {
    package static let rule = "k_ and up to 40 lower-case letters and digits"
    package let text: String

    package init?(validating text: String) {
        guard isMadeName(text, prefix: "k_") else { return nil }
        self.text = text
    }
}

private func isMadeName(_ text: String, prefix: String) -> Bool {
    guard text.hasPrefix(prefix), (prefix.utf8.count + 1...prefix.utf8.count + 40).contains(text.utf8.count) else {
        return false
    }
    return text.utf8.dropFirst(prefix.utf8.count).allSatisfy {
        ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z")) || ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9"))
    }
}
