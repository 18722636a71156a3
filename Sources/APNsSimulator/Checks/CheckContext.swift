/// A request on its way through the checks: what is known of the service, and what the checks found out.
struct CheckContext {
    private let arrived: ArrivedRequest
    let environment: SimulatedEnvironment
    let role: ListenerRole
    let profile: SimulatorProfile
    /// UNIX seconds.
    let now: Int64
    let verifier: ProviderTokenVerifier
    let channels: ChannelStore
    let phones: PhoneStore
    /// What the connection's earlier requests tie it to; updated by the checks.
    var binding: ConnectionBinding

    /// Found by the first check.
    var route: RequestRoute?
    /// Found by authentication: a token with a good signature and age.
    var token: VerifiedToken?
    /// Device pushes: the token's bytes.
    var tokenBytes: [UInt8] = []
    /// Broadcast, read: the channel. Deletion looks it up itself.
    var channel: Channel?
    /// Broadcast and device pushes: `apns-expiration` as a number, UNIX seconds.
    var expiration: Int64?
    /// Creation: the policy that the body asks for.
    var storagePolicy = 0

    init(
        _ arrived: ArrivedRequest,
        environment: SimulatedEnvironment,
        role: ListenerRole,
        profile: SimulatorProfile,
        now: Int64,
        verifier: ProviderTokenVerifier,
        channels: ChannelStore,
        phones: PhoneStore,
        binding: ConnectionBinding
    ) {
        self.arrived = arrived
        self.environment = environment
        self.role = role
        self.profile = profile
        self.now = now
        self.verifier = verifier
        self.channels = channels
        self.phones = phones
        self.binding = binding
    }

    var request: ProviderRequest { arrived.fields }

    /// The environment's credential of the request's provider token.
    var credential: SimulatedCredential? { token.flatMap { verifier.credential(of: $0) } }

    /// Runs the checks in their order; nil if the request passes.
    mutating func firstRejection() -> Rejection? {
        for check in RequestCheck.order {
            if let kind = route?.kind, !check.concerns(kind) { continue }
            if let rejection = check.run(&self) { return rejection }
        }
        return nil
    }
}
