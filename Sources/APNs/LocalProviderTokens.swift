internal import EventLoop
package import APNsProtocol
package import Crypto

/// Provider tokens signed in this process and kept in memory: for tests, the load tester and a single sender.
package final class LocalProviderTokens: ProviderTokenSource {
    private struct Credential {
        let key: P256PrivateKey
        let team: TeamID
        let keyID: KeyID
        var token: String?
        var issuedAt: Int64?
        var wasRefused = false
    }

    private let credentials = ThreadLock<[CredentialID: Credential]>([:])
    private let now: @Sendable () -> Int64

    /// - Parameter now: UNIX seconds.
    package init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    package func add(_ id: CredentialID, key: P256PrivateKey, team: TeamID, keyID: KeyID) {
        credentials.withLock { $0[id] = Credential(key: key, team: team, keyID: keyID) }
    }

    package func token(for id: CredentialID) async throws(ProviderTokenError) -> String {
        let now = now()
        let result: Result<String, ProviderTokenError> = credentials.withLock { credentials in
            guard var credential = credentials[id] else { return .failure(.unusable("no such credential")) }
            let decision = ProviderTokenRules.decide(
                issuedAt: credential.issuedAt,
                now: now,
                wasRefused: credential.wasRefused
            )
            if let token = credential.token, decision != .sign { return .success(token) }
            do throws(CryptoError) {
                let token = try ProviderTokenSigner.sign(
                    key: credential.key,
                    team: credential.team,
                    keyID: credential.keyID,
                    issuedAt: now
                )
                credential.token = token
                credential.issuedAt = now
                credential.wasRefused = false
                credentials[id] = credential
                return .success(token)
            } catch {
                return .failure(.unusable("the key cannot sign"))
            }
        }
        return try result.get()
    }

    package func refused(_ token: String, for id: CredentialID, as refusal: ProviderTokenRefusal) async {
        guard refusal == .expired else { return }
        credentials.withLock { credentials in
            if credentials[id]?.token == token { credentials[id]?.wasRefused = true }
        }
    }
}
