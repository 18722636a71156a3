internal import EventLoop
package import APNs
internal import APNsProtocol
internal import Core
internal import Crypto
package import Store

/// Provider tokens kept in PostgreSQL, encrypted, and shared by all processes: one for each credential row.
///
/// Whoever finds that one is to be signed anew stores it by compare-and-set, and who loses reads the winner's.
package final class StoredProviderTokens: ProviderTokenSource {
    private let store: Store
    /// The tokens that APNs called expired, by credential.
    private let refusedTokens = ThreadLock<[CredentialID: String]>([:])

    package init(store: Store) {
        self.store = store
    }

    package func token(for credential: CredentialID) async throws(ProviderTokenError) -> String {
        // Losing the compare-and-set twice in a row takes two signatures within a moment.
        for _ in 0..<4 {
            if let token = try await currentToken(of: credential) { return token }
        }
        throw .unavailable("another process keeps signing the provider token")
    }

    package func refused(_ token: String, for credential: CredentialID, as refusal: ProviderTokenRefusal) async {
        guard refusal == .expired else { return }
        refusedTokens.withLock { $0[credential] = token }
    }

    /// - Returns: nil: another process has stored one meanwhile, which is to be read.
    private func currentToken(of id: CredentialID) async throws(ProviderTokenError) -> String? {
        let stored: StoredCredential
        let token: String?
        do throws(StoreError) {
            guard let found = try await store.credential(id.number, by: .now + .seconds(5)) else {
                throw StoreError.configuration("the credential is unknown, or was replaced")
            }
            stored = found
            token = try found.tokenCiphertext.map { ciphertext throws(StoreError) in
                let plaintext = try store.masterKey.open(ciphertext, for: found.app.binding("provider-token"))
                return String(decoding: plaintext, as: UTF8.self)
            }
        } catch {
            throw ProviderTokenError(error)
        }
        let decision = ProviderTokenRules.decide(
            issuedAt: token == nil ? nil : stored.tokenIssuedAt?.seconds,
            now: stored.now.seconds,
            wasRefused: token != nil && refusedTokens.withLock { $0[id] == token }
        )
        switch (decision, token) {
        case (.use, let token?), (.clockIsWrong, let token?): return token
        case (.sign, _), (_, nil): return try await sign(id, stored)
        }
    }

    private func sign(_ id: CredentialID, _ stored: StoredCredential) async throws(ProviderTokenError) -> String? {
        let issuedAt = Moment(seconds: stored.now.seconds)
        let token: String
        do throws(StoreError) {
            let pem = try store.masterKey.open(stored.p8Ciphertext, for: stored.app.binding("p8"))
            token = try Self.sign(pem: String(decoding: pem, as: UTF8.self), stored, at: issuedAt)
            let ciphertext = try store.masterKey.seal(Array(token.utf8), for: stored.app.binding("provider-token"))
            let isStored = try await store.storeProviderToken(
                for: id.number,
                ciphertext,
                issuedAt: issuedAt,
                replacing: stored.tokenIssuedAt,
                by: .now + .seconds(5)
            )
            guard isStored else { return nil }
        } catch {
            throw ProviderTokenError(error)
        }
        refusedTokens.withLock { $0[id] = nil }
        return token
    }

    private static func sign(
        pem: String,
        _ stored: StoredCredential,
        at issuedAt: Moment
    ) throws(StoreError) -> String {
        do {
            return try ProviderTokenSigner.sign(
                key: P256PrivateKey(pem: pem),
                team: stored.team,
                keyID: stored.key,
                issuedAt: issuedAt.seconds
            )
        } catch {
            throw .configuration("the stored key cannot sign")
        }
    }
}

extension ProviderTokenError {
    fileprivate init(_ error: StoreError) {
        self = error.isUnavailable ? .unavailable(error.description) : .unusable(error.description)
    }
}
