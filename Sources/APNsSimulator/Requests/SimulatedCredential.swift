package import Crypto

/// A signing key that the simulated service knows.
package struct SimulatedCredential: Sendable {
    package var teamID: String
    package var keyID: String
    package var publicKey: P256PublicKey
    /// The one environment of a key of the newer kinds; nil is a key for both.
    package var environment: SimulatedEnvironment?
    /// The bundle ids that the key may push to; nil is every one of its team.
    package var bundles: Set<String>?

    package init(
        teamID: String,
        keyID: String,
        publicKey: P256PublicKey,
        environment: SimulatedEnvironment? = nil,
        bundles: Set<String>? = nil
    ) {
        self.teamID = teamID
        self.keyID = keyID
        self.publicKey = publicKey
        self.environment = environment
        self.bundles = bundles
    }

    func covers(bundle: String) -> Bool { bundles?.contains(bundle) ?? true }
}
