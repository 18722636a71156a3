import Glibc

/// How a simulator behaves.
package struct SimulatorConfiguration: Sendable {
    /// Where certificates and the credential's key are written; nil: a new folder under the system's temporary one.
    package var directory: String?
    /// Every answered request is appended there, a line of JSON each; nil, and in lean mode: none is.
    package var requestFile: String?
    package var profile = SimulatorProfile.observed
    /// Pushes are accepted unread: neither verified nor modelled, only counted.
    package var isLean = false
    /// Lean mode reads each push's `apns-id`, to notice one that was accepted before.
    package var countsDoubles = false
    /// Lean mode reads each push's token and the last eight digits of its `apns-id`, which have to rise.
    package var countsOrder = false
    /// Threads of the lean listeners; nil: one less than there are cores, at most four.
    package var leanLoops: Int?
    /// A stand-in for distance: every byte of the listeners' answers leaves so much later.
    package var roundTrip: Duration = .zero
    /// Makes channel ids, generated request ids and shares of faults repeatable.
    package var seed: UInt64?
    package var credential = CredentialNames()
    /// Verify by these keys too.
    package var moreCredentials: [SimulatedCredential] = []

    /// 0: any port that is free.
    package var ports: [Endpoint: Int] = [:]
    package var controlPort = 0

    // What is known of the live service's stream limits, and can be switched.
    /// Before that. Apple's is 1; a load generator that does not know to wait needs more.
    package var initialStreams = 1
    /// After the first request with a valid provider token.
    package var maxConcurrentStreams = 1000
    /// A 4xx other than 410 lowers the limit to 1 until the next success.
    package var lowersStreamLimit = true
    /// The service ends the connection of a sender that produces so many `BadDeviceToken`; nil: never.
    package var mostBadTokens: Int?

    /// UNIX seconds; tests pass a clock of their own.
    package var clock: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// A listener: one of two in each environment.
    package struct Endpoint: Hashable, Sendable {
        package let environment: SimulatedEnvironment
        package let role: ListenerRole

        package init(_ environment: SimulatedEnvironment, _ role: ListenerRole) {
            self.environment = environment
            self.role = role
        }
    }

    /// The team and key of the credential that the simulator makes for itself.
    package struct CredentialNames: Sendable {
        package var teamID = "SIMTEAM001"
        package var keyID = "SIMKEY0001"

        package init() {}
    }

    package init() {}
}
