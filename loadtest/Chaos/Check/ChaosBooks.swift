/// What a run knows of one match: what it posted and was answered, and the phones that should follow. Times are UNIX seconds.
struct MatchBook: Encodable, Sendable {
    let match: String
    /// Its `away` in every content state: tells whose state a phone shows.
    let number: Int
    var events: [EventBook] = []
    var phones: [PhoneBook] = []
    var groups: [GroupBook] = []
    var devices: [DeviceBook] = []
}

/// A device that follows the match, by its push-to-start token.
struct DeviceBook: Encodable, Sendable {
    let device: String
    let token: String
}

/// One event of a feed.
struct EventBook: Encodable, Sendable {
    enum Kind: String, Encodable, Sendable {
        case update, correction, heartbeat, end
    }

    /// What the API said of it.
    struct Answer: Encodable, Hashable, Sendable {
        let status: String
        let version: Int
    }

    let id: String
    /// And its `home` in the content state.
    let sequence: Int
    let kind: Kind
    let isKey: Bool
    /// Of its alert.
    let title: String?
    /// When it was first sent.
    let posted: Double
    /// When it was first answered for good.
    var answered: Double?
    /// Every different answer, also to duplicates: there should be one.
    var answers: [Answer] = []

    var hasState: Bool { kind != .heartbeat }

    /// The version that it became.
    var version: Int? { answers.first { $0.status == "accepted" }?.version }
}

/// A phone that is reached by update tokens.
struct PhoneBook: Encodable, Sendable {
    enum Life: String, Encodable, Sendable {
        case live
        /// APNs takes its token no more, or it has left: nothing more is expected.
        case gone
    }

    let activity: String
    /// The newest is the one that counts.
    var tokens: [String]
    var life = Life.live
    /// Since when it has been registered without a break: when the API answered. Nil: not yet.
    var since: Double?
    /// Calls that registered it, also with what it had registered already: it is then brought to the newest state again.
    var reports: [Report] = []

    struct Report: Encodable, Sendable {
        let token: String
        /// When it was sent, and when it was answered.
        let begin: Double
        let end: Double
        /// More than one may have been heard.
        let attempts: Int
    }

    /// What the API said when it registered last: the match's version, and whether the phone is behind it.
    var version = 0
    var isBehind = true
}

/// Phones on a channel.
struct GroupBook: Encodable, Sendable {
    let channel: String
    let count: Int
    /// When they subscribed.
    let since: Double
    /// The match's events that had been accepted by then, if any: what was stored reaches them.
    let lateVersion: Int
}
