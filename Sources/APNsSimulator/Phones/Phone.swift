/// A Live Activity on a phone, or on a group of phones that receive the same pushes. Kept small: there may be millions.
struct Phone {
    /// Registered without a budget of its own: above what Touchline allows itself.
    static let defaultUrgentPerHour = 240
    /// The system ends an activity 8 hours after its start.
    static let lifetimeSeconds: Int64 = 8 * 3600
    private static let none = Int64.min

    /// The app's contract; nil decodes everything.
    var contract: PhoneContract?
    private(set) var shows: ContentState?
    private var stampOrNone = Phone.none
    private var staleAtOrNone = Phone.none
    /// The newest of all accepted pushes, and when it came.
    private var newestStampOrNone = Phone.none
    private var newestStampAt: UInt32 = 0
    private var urgentTimes: [UInt32] = []  // UNIX seconds of the last hour's urgent pushes
    private var eventCode: UInt8 = .max
    private(set) var hasEnded = false
    var isRegistered = false
    var environment: SimulatedEnvironment
    var count: UInt32 = 1
    var urgentPerHour = UInt32(Phone.defaultUrgentPerHour)
    private var startedAt: UInt32
    private(set) var alerts: UInt32 = 0
    private(set) var pushes: UInt32 = 0
    private(set) var dropped = Dropped()
    /// Pushes with the newest stamp again.
    private(set) var repeated: UInt32 = 0
    /// By stamp, the alerts that were shown; the number is that of its title.
    private(set) var alertStamps: [AlertCount] = []
    /// By attributes, the activities that were started.
    private(set) var starts: [StartCount] = []

    struct AlertCount: Equatable {
        let stamp: Int64
        let title: UInt32
        var count: UInt32
    }

    struct StartCount {
        let payload: PushPayload
        var count: UInt32
    }

    /// Pushes that reached the phone and changed nothing, by why.
    struct Dropped: Equatable {
        var older: UInt32 = 0
        var afterEnd: UInt32 = 0
        var undecodable: UInt32 = 0
        var budget: UInt32 = 0
    }

    init(environment: SimulatedEnvironment, startedAt now: Int64) {
        self.environment = environment
        startedAt = UInt32(clamping: now)
    }

    /// `aps.timestamp` of the last push that was applied.
    var stamp: Int64? { stampOrNone == Self.none ? nil : stampOrNone }

    var staleAt: Int64? { staleAtOrNone == Self.none ? nil : staleAtOrNone }

    var event: PushPayload.Event? { PushPayload.Event(rawValue: eventCode) }

    /// Notes the stamp of an accepted push, and says what it is to those before.
    mutating func order(of stamp: Int64, now: Int64) -> StampOrder {
        if stamp < newestStampOrNone { return .older(since: newestStampAt) }
        if stamp == newestStampOrNone {
            repeated &+= 1
            return .same(since: newestStampAt)
        }
        newestStampOrNone = stamp
        newestStampAt = UInt32(clamping: now)
        return .newer
    }

    /// A push arrives: after the end nothing counts; an urgent one over the budget is throttled in
    /// silence; one that is older than what is shown, or does not decode, is dropped.
    ///
    /// - Returns: Where its alert has been shown before, by its title: the stamp of that push.
    @discardableResult
    mutating func receive(_ push: PhonePush, now: Int64) -> Int64? {
        pushes &+= 1
        if !hasEnded, now - Int64(startedAt) > Self.lifetimeSeconds { hasEnded = true }
        guard !hasEnded else {
            dropped.afterEnd &+= 1
            return nil
        }
        if push.isUrgent, !spendUrgent(now: now) {
            dropped.budget &+= 1
            return nil
        }
        guard let payload = push.payload else {
            dropped.undecodable &+= 1
            return nil
        }
        guard payload.timestamp >= stampOrNone else {
            dropped.older &+= 1
            return nil
        }
        if let contract, !payload.decodes(as: contract) {
            dropped.undecodable &+= 1
            return nil
        }
        return apply(payload)
    }

    private mutating func apply(_ payload: PushPayload) -> Int64? {
        if let contentState = payload.contentState { shows = contentState }
        stampOrNone = payload.timestamp
        staleAtOrNone = payload.staleDate ?? Self.none
        eventCode = payload.event.rawValue
        let shownBefore = payload.hasAlert ? countAlert(payload) : nil
        if payload.event == .start { countStart(payload) }
        if payload.event == .end { hasEnded = true }
        return shownBefore
    }

    private mutating func countAlert(_ payload: PushPayload) -> Int64? {
        alerts &+= 1
        let before = alertStamps.last { $0.title == payload.alertTitle }?.stamp
        // What is applied has the newest stamp, or the one before again.
        if let last = alertStamps.last, last.stamp == payload.timestamp {
            alertStamps[alertStamps.count - 1].count &+= 1
        } else {
            alertStamps.append(AlertCount(stamp: payload.timestamp, title: payload.alertTitle, count: 1))
        }
        return before
    }

    private mutating func countStart(_ payload: PushPayload) {
        let index = starts.firstIndex { $0.payload === payload || $0.payload.attributes == payload.attributes }
        if let index { starts[index].count &+= 1 } else { starts.append(StartCount(payload: payload, count: 1)) }
    }

    /// Takes one of the hour's urgent pushes; false when they are used up. The hour slides.
    private mutating func spendUrgent(now: Int64) -> Bool {
        let time = UInt32(clamping: now)
        if urgentTimes.count >= urgentPerHour {
            urgentTimes.removeAll { time >= $0 && time - $0 >= 3600 }
            guard urgentTimes.count < urgentPerHour else { return false }
        }
        urgentTimes.append(time)
        return true
    }
}
