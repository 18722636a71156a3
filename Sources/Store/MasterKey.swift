internal import Crypto
internal import FoundationEssentials

/// The 32 bytes that encrypt what the database must not show: `.p8` keys and provider tokens.
///
/// A ciphertext is a version (1 byte, 1), the master key's ID (8 bytes, the start of its SHA-256) and AES-256-GCM's nonce,
/// ciphertext and tag. It is bound to its purpose, tenant and app: moved to another row, it does not open.
package struct MasterKey: Sendable {
    /// What a ciphertext is bound to.
    package struct Binding: Equatable, Sendable {
        /// `p8`, `provider-token`.
        package let purpose: String
        package let tenant: String
        /// Bundle and environment, or whatever else names the row within its tenant.
        package let subject: String

        package init(purpose: String, tenant: String, subject: String) {
            self.purpose = purpose
            self.tenant = tenant
            self.subject = subject
        }

        /// Each part after its length, so that no two bindings read the same.
        fileprivate var bytes: [UInt8] {
            [purpose, tenant, subject].flatMap { part -> [UInt8] in
                let bytes = Array(part.utf8)
                return [UInt8(truncatingIfNeeded: bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
            }
        }
    }

    package static let byteCount = 32
    private static let version: UInt8 = 1

    private let bytes: [UInt8]
    private let keyID: [UInt8]

    /// - Throws: ``StoreError/configuration(_:)`` unless there are 32 bytes.
    package init(bytes: [UInt8]) throws(StoreError) {
        guard bytes.count == Self.byteCount else {
            throw .configuration("the master key has \(bytes.count) bytes instead of \(Self.byteCount)")
        }
        self.bytes = bytes
        keyID = Array(SHA256.hash(Array("touchline master key".utf8) + bytes).prefix(8))
    }

    /// Reads a key as `TOUCHLINE_MASTER_KEY` or a key file holds it: base64 of 32 bytes, space around it allowed.
    package init(base64 text: String) throws(StoreError) {
        let trimmed = text.filter { !$0.isWhitespace }
        guard let bytes = Base64.decode(trimmed) else { throw .configuration("the master key is not base64") }
        try self.init(bytes: bytes)
    }

    package static func random() -> MasterKey {
        do {
            return try MasterKey(bytes: SecureRandom.bytes(byteCount))
        } catch {
            preconditionFailure("a key of the right size: \(error)")
        }
    }

    /// As the key file holds it. Never for a message or a log.
    package var base64: String { Base64.encode(bytes) }

    /// Whether a ciphertext was made with this key, as far as can be told without opening it.
    package func fits(_ ciphertext: [UInt8]) -> Bool {
        ciphertext.first == Self.version && ciphertext.count > 9 && Array(ciphertext[1..<9]) == keyID
    }

    package func seal(_ plaintext: [UInt8], for binding: Binding) throws(StoreError) -> [UInt8] {
        do {
            let sealed = try AESGCM.seal(plaintext, key: bytes, additionalData: binding.bytes + keyID)
            return [Self.version] + keyID + sealed
        } catch {
            throw .configuration("encryption failed: \(error)")
        }
    }

    /// - Throws: ``StoreError/configuration(_:)`` when it was encrypted with another key or for another row.
    package func open(_ ciphertext: [UInt8], for binding: Binding) throws(StoreError) -> [UInt8] {
        guard ciphertext.first == Self.version, ciphertext.count > 9 else {
            throw .configuration("an encrypted value has an unknown form")
        }
        guard Array(ciphertext[1..<9]) == keyID else {
            throw .configuration("a value was encrypted with another master key")
        }
        do {
            return try AESGCM.open(Array(ciphertext[9...]), key: bytes, additionalData: binding.bytes + keyID)
        } catch {
            throw .configuration("an encrypted value does not belong to its row")
        }
    }
}
