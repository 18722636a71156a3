import Crypto

/// What a provider token with a good signature says.
struct VerifiedToken: Equatable, Sendable {
    let teamID: String
    let keyID: String
    /// `iat`, UNIX seconds.
    let issuedAt: Int64
}

/// Verifies provider tokens (JWT, ES256) against the keys that the service knows.
///
/// A token is verified once and remembered by its text, so that a push costs a look-up; its age is checked every time.
final class ProviderTokenVerifier {
    /// A token lives an hour from its `iat`, and may be no more than that ahead of the clock.
    static let lifetimeSeconds: Int64 = 3600
    /// Apple gives no reason string for a token of the future; this one is ours.
    static let reasonForFutureToken = "InvalidProviderToken"

    private var credentials: [String: SimulatedCredential] = [:]  // by team and key id
    private var verified: [String: VerifiedToken] = [:]
    private let mostRemembered = 4096
    /// How many different tokens with a good signature were seen.
    private(set) var tokensSeen = 0

    init(_ credentials: [SimulatedCredential] = []) {
        for credential in credentials { add(credential) }
    }

    func add(_ credential: SimulatedCredential) {
        credentials[Self.name(credential.teamID, credential.keyID)] = credential
    }

    func credential(of token: VerifiedToken) -> SimulatedCredential? {
        credentials[Self.name(token.teamID, token.keyID)]
    }

    /// - Parameters:
    ///   - authorization: The header's value, `bearer <jwt>`.
    ///   - now: UNIX seconds.
    /// - Returns: What the token says, or the 403 that answers it.
    func verify(_ authorization: String?, now: Int64) -> Result<VerifiedToken, Rejection> {
        guard let authorization, !authorization.isEmpty else { return .failure(Rejection(403, "MissingProviderToken")) }
        if let token = verified[authorization] { return check(ageOf: token, now: now) }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            return .failure(Rejection(403, parts.count < 2 ? "MissingProviderToken" : "InvalidProviderToken"))
        }
        guard let token = verifySignature(of: parts[1]) else {
            return .failure(Rejection(403, "InvalidProviderToken"))
        }
        if verified.count >= mostRemembered { verified.removeAll() }
        verified[authorization] = token
        tokensSeen += 1
        return check(ageOf: token, now: now)
    }

    private func check(ageOf token: VerifiedToken, now: Int64) -> Result<VerifiedToken, Rejection> {
        if token.issuedAt < now - Self.lifetimeSeconds { return .failure(Rejection(403, "ExpiredProviderToken")) }
        if token.issuedAt > now + Self.lifetimeSeconds {
            return .failure(Rejection(403, Self.reasonForFutureToken))
        }
        return .success(token)
    }

    private func verifySignature(of jwt: Substring) -> VerifiedToken? {
        let parts = jwt.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Base64URL.decode(parts[0]).flatMap({ try? JSONTextParser.parse($0) }),
            let claims = Base64URL.decode(parts[1]).flatMap({ try? JSONTextParser.parse($0) }),
            let signature = Base64URL.decode(parts[2]),
            header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string,
            let teamID = claims["iss"]?.string,
            let issuedAt = Self.seconds(claims["iat"]),
            let credential = credentials[Self.name(teamID, keyID)],
            Self.isGood(signature, of: Array("\(parts[0]).\(parts[1])".utf8), by: credential.publicKey)
        else { return nil }
        return VerifiedToken(teamID: teamID, keyID: keyID, issuedAt: issuedAt)
    }

    /// RFC 7518 wants R and S, 64 bytes. Clients in wide use send DER, as Apple's own sample does, and the live service takes
    /// it. A DER signature of 64 bytes is as good as impossible, and tried all the same.
    private static func isGood(_ signature: [UInt8], of message: [UInt8], by key: P256PublicKey) -> Bool {
        key.verify(signature, of: message) || key.verify(der: signature, of: message)
    }

    /// Clients in wide use send `iat` as a fraction (Python's `time.time()`) or as text, and the live service takes both.
    private static func seconds(_ value: JSONText?) -> Int64? {
        guard let value else { return nil }
        if let integer = value.integer ?? value.string.flatMap({ Int64($0) }) { return integer }
        return (value.double ?? value.string.flatMap { Double($0) }).flatMap { Int64(exactly: $0.rounded(.down)) }
    }

    private static func name(_ teamID: String, _ keyID: String) -> String { "\(teamID) \(keyID)" }
}
