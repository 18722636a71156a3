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
        return try authorization(claim: claim, algorithm: algorithm)
    }

    /// With an `iat` as it stands in JSON, and another signature made of R and S.
    func authorization(
        claim: String,
        algorithm: String = "ES256",
        change: ([UInt8]) -> [UInt8] = { $0 }
    ) throws -> String {
        let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm)","kid":"\#(keyID)"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(claim)}"#.utf8))
        let signature = change(try key.sign(Array("\(header).\(claims)".utf8)))
        return "bearer \(header).\(claims).\(Base64URL.encode(signature))"
    }

    /// R and S in DER (X.690): two integers, without leading zeros but for the sign.
    static func der(_ signature: [UInt8]) -> [UInt8] {
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 > 0x7F }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let content = integer(signature[..<32]) + integer(signature[32...])
        return [0x30, UInt8(content.count)] + content
    }
}
