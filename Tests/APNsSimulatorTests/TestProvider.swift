import APNsSimulator
import Crypto

/// A provider as the tests play it: a team's key, and tokens signed with it.
struct TestProvider {
    let key: P256PrivateKey
    let teamID: String
    let keyID: String

    init(teamID: String = "TEAM000001", keyID: String = "KEY0000001") throws {
        key = try P256PrivateKey.generate()
        self.teamID = teamID
        self.keyID = keyID
    }

    func credential(environment: SimulatedEnvironment? = nil, bundles: Set<String>? = nil) -> SimulatedCredential {
        SimulatedCredential(
            teamID: teamID,
            keyID: keyID,
            publicKey: key.publicKey,
            environment: environment,
            bundles: bundles
        )
    }

    /// `bearer <jwt>`.
    func authorization(issuedAt: Int64, algorithm: String = "ES256", issuedAtAsText: Bool = false) throws -> String {
        let claim = issuedAtAsText ? "\"\(issuedAt)\"" : "\(issuedAt)"
        let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm)","kid":"\#(keyID)"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(claim)}"#.utf8))
        let signature = try key.sign(Array("\(header).\(claims)".utf8))
        return "bearer \(header).\(claims).\(Base64URL.encode(signature))"
    }
}
