package import Core
internal import Crypto

/// An API key as its holder sends it: `tl_<role>_<key id>_<secret>`.
///
/// The ID is public and finds the row; the secret is 32 random bytes in hex, of which only the SHA-256 is kept.
package struct KeySecret: Sendable {
    package let role: Role
    package let id: APIKeyID
    private let secret: String

    /// A new one, at random.
    package init(role: Role) {
        self.role = role
        guard let id = APIKeyID(validating: "k_" + Hex.encode(SecureRandom.bytes(8))) else {
            preconditionFailure("16 hex digits are a key's ID")
        }
        self.id = id
        secret = Hex.encode(SecureRandom.bytes(32))
    }

    /// Nil for what cannot be a key of ours.
    package init?(_ text: String) {
        guard text.utf8.count <= 200 else { return nil }
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "tl", let role = Role(rawValue: String(parts[1])) else { return nil }
        guard let id = APIKeyID(validating: "k_\(parts[2])"), !parts[3].isEmpty else { return nil }
        self.role = role
        self.id = id
        secret = String(parts[3])
    }

    /// For its holder, once. Never for a message or a log.
    package var text: String { "tl_\(role.rawValue)_\(id.text.dropFirst(2))_\(secret)" }

    package var digest: [UInt8] { SHA256.hash(secret) }
}

extension KeySecret: CustomStringConvertible {
    /// Without the secret.
    package var description: String { "key \(id.text)" }
}
