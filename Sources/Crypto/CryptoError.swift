/// Why a cryptographic operation was refused. No case carries key material, plaintext or OpenSSL's own texts.
package enum CryptoError: Error, Equatable, Sendable {
    /// An argument has the wrong size: what it was, and how many bytes it must have.
    case wrongSize(what: String, bytes: Int, expected: Int)
    /// The tag does not match: another key, other additional data, or changed ciphertext.
    case notAuthentic
    /// A key that Touchline cannot use.
    case key(KeyFault)
    /// OpenSSL refused a step that only fails for lack of memory or a broken installation.
    case library(step: String)
    /// A file of ``TestCertificate`` cannot be written; `code` is `errno`.
    case file(path: String, code: Int32)
}

/// What is wrong with the text of a key. The descriptions are shown to whoever uploads it and never quote the key.
package enum KeyFault: Error, Equatable, Sendable {
    case empty
    case notPEM
    case unfinished
    case notBase64
    case encrypted
    case publicKey
    case certificate
    case otherLabel(String)
    case unreadable
    case otherAlgorithm(String)
    case otherCurve(String)
}

extension KeyFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "the key is empty"
        case .notPEM: "the text is not a PEM file: it has no -----BEGIN … ----- line"
        case .unfinished: "the PEM text is cut off: it has no matching -----END … ----- line"
        case .notBase64: "the text between the BEGIN and END lines is not base64"
        case .encrypted: "the key is protected by a passphrase; Apple's .p8 files are not"
        case .publicKey: "this is a public key; the private key from Apple's .p8 file is needed"
        case .certificate: "this is a certificate; the private key from Apple's .p8 file is needed"
        case .otherLabel(let label): "a PEM block of the kind \"\(label)\" is not a private key"
        case .unreadable: "the PEM block does not hold a private key that can be read"
        case .otherAlgorithm(let name): "the key is of the kind \(name); APNs takes elliptic-curve keys on P-256 only"
        case .otherCurve(let name): "the key is on the curve \(name); APNs takes P-256 (prime256v1) only"
        }
    }
}
