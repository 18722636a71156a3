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
    /// The newest stamp that was accepted, and when, to notice one that comes twice or too late.
    private var newest: (stamp: Int64, at: UInt32)?

    init(id: String, bundle: String, environment: SimulatedEnvironment, storagePolicy: Int, number: Int) {
        self.id = id
        self.bundle = bundle
        self.environment = environment
        self.storagePolicy = storagePolicy
        self.number = number
    }

    /// Notes the stamp of an accepted push, and says what it is to those before.
    func order(of stamp: Int64, now: Int64) -> StampOrder {
        if let newest, stamp < newest.stamp { return .older(since: newest.at) }
        if let newest, stamp == newest.stamp { return .same(since: newest.at) }
        newest = (stamp, UInt32(clamping: now))
        return .newer
    }
}

/// A push that waits for phones which subscribe later.
struct StoredMessage {
    let push: PhonePush
    /// UNIX seconds.
    let expiresAt: Int64
}
