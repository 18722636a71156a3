/// What there is to see when a run has settled: at the simulator, in the database, of the faults.
struct ChaosEvidence: Sendable {
    /// By token.
    var phones: [String: PhoneSight] = [:]
    /// By channel, in the order in which they subscribed.
    var groups: [String: [PhoneSight]] = [:]
    var repeats: [RepeatSight] = []
    /// Repeats that the simulator has forgotten.
    var repeatsForgotten = 0
    /// By match.
    var matches: [String: StoredMatch] = [:]
    /// What still waits, a line each.
    var unsettled: [String] = []
    /// Of `touchline_sums_off`, a line each.
    var sumsOff: [String] = []
    var faults: [FaultRecord] = []

    /// A phone, or a group of them on one channel, as `GET /_sim/phones` shows it.
    struct PhoneSight: Decodable, Sendable {
        struct State: Decodable, Equatable, Sendable {
            let home: Int
            let away: Int
        }

        struct Dropped: Decodable, Sendable {
            var older = 0
            var after_end = 0
            var undecodable = 0
            var budget = 0
        }

        struct Start: Decodable, Sendable {
            let count: Int
        }

        var token: String?
        var channel: String?
        var count = 1
        var shows: State?
        var stamp: Int?
        var ended = false
        var pushes = 0
        var dropped = Dropped()
        var alert_titles: [String: Int] = [:]
        var starts: [Start] = []
    }

    /// An accepted push that repeated something. Times are UNIX seconds.
    struct RepeatSight: Decodable, Sendable {
        enum Kind: String, Decodable, Sendable {
            case same, older, alert
        }

        var token: String?
        var channel: String?
        let stamp: Int
        let kind: Kind
        /// Of a `same`: with an alert that had not been shown.
        var brings_alert = false
        /// When it came.
        let at: Int
        /// When the newest stamp, or the alert, had come.
        let since: Int

        /// One push may repeat both a stamp and an alert.
        struct Push: Hashable {
            let token: String?
            let stamp: Int
            let at: Int
        }

        var push: Push { Push(token: token, stamp: stamp, at: at) }
    }

    struct StoredEvent: Sendable {
        let kind: String
        let status: String
        let version: Int
        let sequence: Int
    }

    struct StoredMatch: Sendable {
        let version: Int
        /// Of that version; nil while it has none.
        let stamp: Int?
        let hasEnded: Bool
        /// The end went out again, for phones that missed it; those that had it ignore what comes behind.
        var isEndRepeated = false
        /// By id.
        var events: [String: StoredEvent] = [:]
        /// By device: what became of its start.
        var starts: [String: String] = [:]
    }
}
