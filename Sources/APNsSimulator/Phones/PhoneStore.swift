import Crypto

/// All phones of one environment: those reached by token, and groups that listen on a channel.
final class PhoneStore {
    /// More tokens are accepted but no longer modelled.
    static let mostTokens = 4_000_000

    let environment: SimulatedEnvironment
    private var tokens = TokenTable()
    private var byToken: [Phone] = []  // by the table's entries
    private var bundles: [Int: String] = [:]  // by entry: of phones that were registered with their app
    private var groups: [String: [Phone]] = [:]  // by channel id
    /// How many entries of `byToken` were registered.
    private(set) var registered = 0

    init(environment: SimulatedEnvironment) { self.environment = environment }

    /// How many phones there are, every one of a group counted.
    var count: Int { byToken.count + groups.values.reduce(0) { $0 + $1.reduce(0) { $0 + Int($1.count) } } }

    func removeAll() {
        tokens = TokenTable()
        byToken = []
        bundles = [:]
        groups = [:]
        registered = 0
    }

    /// What registration says of a phone.
    struct Registration {
        var contract: PhoneContract?
        var urgentPerHour = Phone.defaultUrgentPerHour
        var bundle: String?
    }

    /// Adds a phone, or tells more of one that pushes have reached already. One whose activity has ended begins a new one.
    func register(token: [UInt8], _ registration: Registration, now: Int64) {
        let (entry, isNew) = tokens.insert(token)
        if isNew { byToken.append(Phone(environment: environment, startedAt: now)) }
        if byToken[entry].hasEnded, byToken[entry].isRegistered {
            byToken[entry] = Phone(environment: environment, startedAt: now)
            registered -= 1
        }
        if !byToken[entry].isRegistered { registered += 1 }
        byToken[entry].isRegistered = true
        byToken[entry].contract = registration.contract
        byToken[entry].urgentPerHour = UInt32(clamping: registration.urgentPerHour)
        bundles[entry] = registration.bundle
    }

    /// Adds a group of phones on a channel; a message stored there reaches it at once.
    func register(count: Int, on channel: Channel, _ registration: Registration, now: Int64) {
        var group = Phone(environment: environment, startedAt: now)
        group.isRegistered = true
        group.count = UInt32(clamping: count)
        group.contract = registration.contract
        group.urgentPerHour = UInt32(clamping: registration.urgentPerHour)
        if let stored = channel.stored, stored.expiresAt > now { group.receive(stored.push, now: now) }
        groups[channel.id, default: []].append(group)
    }

    /// Where tokens of the other environment are found; both stores know each other.
    weak var other: PhoneStore?

    /// Whether the token was registered in the other environment and not in this one.
    func isForeign(_ token: [UInt8]) -> Bool {
        guard let other, other.registered > 0 else { return false }
        return other.isRegistered(token) && !isRegistered(token)
    }

    func isRegistered(_ token: [UInt8]) -> Bool {
        registered > 0 && (tokens.find(token).map { byToken[$0].isRegistered } ?? false)
    }

    /// The app of a phone that was registered with one.
    func bundle(of token: [UInt8]) -> String? { bundles.isEmpty ? nil : tokens.find(token).flatMap { bundles[$0] } }

    /// An accepted push reaches its phone.
    ///
    /// - Parameters:
    ///   - push: What the request carries.
    ///   - token: The token's bytes.
    ///   - isDelivered: False for a push that the service accepts and loses.
    ///   - now: UNIX seconds.
    /// - Returns: What its stamp is to those that the same token got before, and the stamp with which its alert was shown
    ///   already.
    func receive(
        _ push: PhonePush,
        token: [UInt8],
        isDelivered: Bool = true,
        now: Int64
    ) -> (order: StampOrder, alertBefore: Int64?) {
        let entry: Int
        if tokens.count < Self.mostTokens {
            let (found, isNew) = tokens.insert(token)
            if isNew { byToken.append(Phone(environment: environment, startedAt: now)) }
            entry = found
        } else {
            guard let found = tokens.find(token) else { return (.newer, nil) }
            entry = found
        }
        let alertBefore = isDelivered ? byToken[entry].receive(push, now: now) : nil
        return (push.payload.map { byToken[entry].order(of: $0.timestamp, now: now) } ?? .newer, alertBefore)
    }

    /// An accepted broadcast reaches every group of its channel.
    ///
    /// - Returns: The stamp with which its alert was shown already, by a group that has had it.
    func receive(_ push: PhonePush, on channel: Channel, now: Int64) -> Int64? {
        guard let count = groups[channel.id]?.count else { return nil }
        var alertBefore: Int64?
        // A start by broadcast finds no activity that it could be for.
        let push = push.payload?.event == .start ? PhonePush(payload: nil, isUrgent: push.isUrgent) : push
        for index in 0..<count {
            if let stamp = groups[channel.id]?[index].receive(push, now: now) { alertBefore = stamp }
            if let stamp = push.payload?.timestamp { _ = groups[channel.id]?[index].order(of: stamp, now: now) }
        }
        return alertBefore
    }

    func phone(_ token: [UInt8]) -> Phone? { tokens.find(token).map { byToken[$0] } }

    func groups(on channel: String) -> [Phone] { groups[channel] ?? [] }

    /// Phones reached by token, and groups.
    var records: Int { byToken.count + groups.values.reduce(0) { $0 + $1.count } }

    /// Every phone by its token, in the order in which they came, then every group by its channel, until `body` returns
    /// false. The first so many are left out.
    func forEach(skipping: Int = 0, _ body: (_ phone: Phone, _ token: String?, _ channel: String?) -> Bool) {
        for entry in min(skipping, byToken.count)..<byToken.count {
            guard body(byToken[entry], Hex.encode(tokens.token(of: entry)), nil) else { return }
        }
        let all = groups.sorted { $0.key < $1.key }.flatMap { channel, phones in phones.map { (channel, $0) } }
        for (channel, phone) in all.dropFirst(max(0, skipping - byToken.count)) {
            guard body(phone, nil, channel) else { return }
        }
    }

    /// What all phones have gone through, every one of a group counted.
    func sum(into sums: inout PhoneSums) {
        for phone in byToken { sums.add(phone) }
        for phones in groups.values { for phone in phones { sums.add(phone) } }
    }

    /// What is shown on how many phones.
    func tally(into shown: inout [ObjectIdentifier: ShownTally]) {
        for phone in byToken { Self.count(phone, into: &shown) }
        for phones in groups.values { for phone in phones { Self.count(phone, into: &shown) } }
    }

    private static func count(_ phone: Phone, into shown: inout [ObjectIdentifier: ShownTally]) {
        let key = phone.shows.map { ObjectIdentifier($0) } ?? ObjectIdentifier(ShownTally.self)
        let count = Int(phone.count)
        if phone.hasEnded {
            shown[key, default: ShownTally(state: phone.shows)].ended += count
        } else {
            shown[key, default: ShownTally(state: phone.shows)].running += count
        }
    }
}

/// What became of the pushes to many phones.
struct PhoneSums: Equatable {
    var pushes = 0
    var alerts = 0
    /// Alerts that were shown more than once with the same stamp.
    var doubledAlerts = 0
    var starts = 0
    /// Activities that were started more than once with the same attributes.
    var doubledStarts = 0
    var repeatedStamps = 0
    var older = 0
    var afterEnd = 0
    var undecodable = 0
    var budget = 0

    mutating func add(_ phone: Phone) {
        let count = Int(phone.count)
        pushes += count * Int(phone.pushes)
        alerts += count * Int(phone.alerts)
        doubledAlerts += count * phone.alertStamps.reduce(0) { $0 + Int($1.count) - 1 }
        starts += count * phone.starts.reduce(0) { $0 + Int($1.count) }
        doubledStarts += count * phone.starts.reduce(0) { $0 + Int($1.count) - 1 }
        repeatedStamps += count * Int(phone.repeated)
        older += count * Int(phone.dropped.older)
        afterEnd += count * Int(phone.dropped.afterEnd)
        undecodable += count * Int(phone.dropped.undecodable)
        budget += count * Int(phone.dropped.budget)
    }
}

/// On how many phones a content state stands; nil is a phone that shows nothing yet.
struct ShownTally {
    let state: ContentState?
    var running = 0
    var ended = 0

    init(state: ContentState?) { self.state = state }
}
