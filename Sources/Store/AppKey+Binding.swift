internal import APNsProtocol
internal import Core

extension AppKey {
    /// What a ciphertext of this app is bound to. Purposes: `p8`, `provider-token`.
    package func binding(_ purpose: String) -> MasterKey.Binding {
        MasterKey.Binding(
            purpose: purpose,
            tenant: tenant.text,
            subject: "\(bundle.text)/\(environment.rawValue)"
        )
    }
}
