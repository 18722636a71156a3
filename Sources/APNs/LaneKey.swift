package import APNsProtocol

/// A credential row and its revision: two rows never share a provider token, whatever team and key they name.
package struct CredentialID: Hashable, Sendable {
    package let number: Int64

    package init(_ number: Int64) { self.number = number }
}

/// What the connections of a lane are for.
package enum LaneRole: Hashable, Sendable {
    /// Pushes to single tokens.
    case push
    /// Pushes to channels: ahead of the tokens of a million phones, since they have connections of their own.
    case broadcast
    /// Channel management.
    case manage
}

/// What the pushes of one connection have in common: APNs binds a connection to a key and its team.
package struct LaneKey: Hashable, Sendable {
    package let environment: APNsEnvironment
    package let role: LaneRole
    package let credential: CredentialID

    package init(environment: APNsEnvironment, role: LaneRole, credential: CredentialID) {
        self.environment = environment
        self.role = role
        self.credential = credential
    }
}

/// Urgent pushes go ahead of routine ones at every queue of a lane.
package enum PushUrgency: Hashable, Sendable {
    case urgent
    case routine
}
