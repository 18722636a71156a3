internal import APNs
internal import APNsProtocol
internal import Crypto

extension ChannelManagement {
    /// Asks with an id of its own and a deadline of ten seconds.
    func answer(
        to request: ChannelRequest,
        environment: APNsEnvironment,
        credential: Int64
    ) async -> ChannelAnswer {
        await answer(
            to: request,
            environment: environment,
            credential: CredentialID(credential),
            id: APNsID(seed: SecureRandom.bytes(16), index: 0),
            by: .now + .seconds(10)
        )
    }
}
