/// A broadcast channel of one app in one environment.
final class Channel {
    let id: String
    let bundle: String
    let environment: SimulatedEnvironment
    /// 0: no message stored; 1: the most recent one, for at most 8 hours. It never changes.
    let storagePolicy: Int
    /// Creation order, for lists.
    let number: Int
    /// With policy 1: the newest push, for phones that come later.
    var stored: StoredMessage?
    /// The stamp of the push that was accepted last, to notice one that comes twice.
    var lastStamp: Int64?

    init(id: String, bundle: String, environment: SimulatedEnvironment, storagePolicy: Int, number: Int) {
        self.id = id
        self.bundle = bundle
        self.environment = environment
        self.storagePolicy = storagePolicy
        self.number = number
    }
}

/// A push that waits for phones which subscribe later.
struct StoredMessage {
    let push: PhonePush
    /// UNIX seconds.
    let expiresAt: Int64
}
