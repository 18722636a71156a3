package import APNsProtocol
package import Crypto

/// Signs provider tokens: JWTs under ES256. Source: Apple, "Establishing a token-based connection to APNs".
package enum ProviderTokenSigner {
    /// Header `alg`, `kid`; claims `iss`, `iat` as a JSON integer; the signature is R and S, 64 bytes (RFC 7518, 3.4).
    ///
    /// - Parameters:
    ///   - key: The credential's `.p8`.
    ///   - team: `iss`.
    ///   - keyID: `kid`.
    ///   - issuedAt: `iat`, UNIX seconds.
    /// - Returns: The compact form, three base64url parts joined by dots.
    /// - Throws: ``CryptoError`` when OpenSSL cannot sign.
    package static func sign(
        key: P256PrivateKey,
        team: TeamID,
        keyID: KeyID,
        issuedAt: Int64
    ) throws(CryptoError) -> String {
        // Both identifiers passed an allow-list that has nothing to escape.
        let header = Base64URL.encode(#"{"alg":"ES256","kid":"\#(keyID.text)"}"#.utf8)
        let claims = Base64URL.encode(#"{"iss":"\#(team.text)","iat":\#(issuedAt)}"#.utf8)
        let signature = try key.sign(Array("\(header).\(claims)".utf8))
        return "\(header).\(claims).\(Base64URL.encode(signature))"
    }
}
