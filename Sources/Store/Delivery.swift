package import APNsProtocol
package import Core
internal import PostgreSQL

/// One line of a match's deliveries: what became of a version on all targets of one kind, environment and cadence.
package struct Delivery: Sendable {
    package enum State: String, Sendable {
        case waiting
        case sending
        case done
    }

    package let place: DeliveryPlace
    package fileprivate(set) var fromVersion: Int64
    package let toVersion: Int64
    package fileprivate(set) var state: State
    package fileprivate(set) var priority: Int
    /// Of what was sent to; what waits is counted in `wanted` too.
    package fileprivate(set) var counts = TurnCounts()
    /// Phones that the bound of a match left without a push of their own.
    package fileprivate(set) var over = 0
    /// Phones that still get a push of their own.
    package fileprivate(set) var waiting = 0
    /// From the event's acceptance, milliseconds; nil while nothing was sent.
    package fileprivate(set) var firstPushMilliseconds: Int64?
    package fileprivate(set) var lastPushMilliseconds: Int64?
    /// How long pacing held it back; nil: not at all.
    package fileprivate(set) var heldMilliseconds: Int64?
    /// Phones, or channels, that have not reached the match's version; on a place's newest line, else 0.
    package fileprivate(set) var behind = 0
    /// When the oldest version was accepted that they lack; nil while nothing is behind.
    package fileprivate(set) var behindSince: Timestamp?
    /// What APNs answered last that was no acceptance, while something is behind; nil: nothing came.
    package fileprivate(set) var lastAnswer: LastAnswer?
}

/// Which targets a line is about.
package struct DeliveryPlace: Hashable, Sendable {
    package let kind: TargetKind
    package let environment: APNsEnvironment
    /// As phones are paced: `standard` where the app does not declare frequent updates.
    package let cadence: Cadence

    /// Without the cadence.
    struct Side: Hashable {
        let kind: TargetKind
        let environment: APNsEnvironment
    }

    var side: Side { Side(kind: kind, environment: environment) }

    init(kind: TargetKind, environment: APNsEnvironment, cadence: Cadence, appDeclaresFrequent: Bool) {
        self.kind = kind
        self.environment = environment
        self.cadence = cadence == .frequent && !appDeclaresFrequent ? .standard : cadence
    }
}

/// What APNs answered, in its own words.
package struct LastAnswer: Equatable, Sendable {
    package let text: String
    package let at: Timestamp
}

/// A target that has not reached its match's version.
struct BehindTarget {
    let place: DeliveryPlace
    let fromVersion: Int64
    let toVersion: Int64
    let state: Delivery.State
    let count: Int
    let since: Timestamp

    init(_ row: PGRow) {
        place = DeliveryPlace(
            kind: row.value(0),
            environment: row.value(1),
            cadence: row.value(2),
            appDeclaresFrequent: row.bool(8)
        )
        fromVersion = row.int(3)
        toVersion = row.int(4)
        state = row.value(5)
        count = Int(row.int(6))
        since = row.time(7)
    }
}

extension Delivery {
    /// A line for each place and version. What waits or is behind stands on the newest line of its place, or on one of its own.
    static func all(
        _ lines: [DeliveryLine],
        _ waiting: [WaitingStragglers],
        _ behind: [BehindTarget],
        _ answers: [DeliveryPlace.Side: LastAnswer]
    ) -> [Delivery] {
        var deliveries: [Delivery] = []
        // The stored cadence of stragglers is that of their target: the app's declaration is on its line.
        var places: [DeliveryPlace.Side: [Cadence: DeliveryPlace]] = [:]
        for line in lines {
            places[line.place.side, default: [:]][line.cadence] = line.place
            let same = deliveries.lastIndex { $0.place == line.place && $0.toVersion == line.toVersion }
            if let same { deliveries[same].add(line) } else { deliveries.append(Delivery(line)) }
        }
        for target in behind { deliveries.note(target) }
        for late in waiting {
            let known = places[.init(kind: .tokens, environment: late.environment)]?[late.cadence]
            let place =
                known
                ?? DeliveryPlace(
                    kind: .tokens,
                    environment: late.environment,
                    cadence: late.cadence,
                    appDeclaresFrequent: true
                )
            let isCounted = behind.contains { $0.place == place }
            deliveries.note(late, at: place, isCounted: isCounted)
        }
        for index in deliveries.indices where deliveries[index].behind > 0 {
            deliveries[index].lastAnswer = answers[deliveries[index].place.side]
        }
        return deliveries
    }

    private init(_ line: DeliveryLine) {
        place = line.place
        fromVersion = line.fromVersion
        toVersion = line.toVersion
        state = line.state
        priority = line.priority
        add(line)
    }

    fileprivate init(_ place: DeliveryPlace, from: Int64, to: Int64, state: State) {
        self.place = place
        fromVersion = from
        toVersion = to
        self.state = state
        priority = 5
    }

    private mutating func add(_ line: DeliveryLine) {
        fromVersion = min(fromVersion, line.fromVersion)
        // A line of single pushes is written with its first, whatever else is under way.
        if !line.isOfStragglers || state == .done { state = line.state.rank < state.rank ? line.state : state }
        priority = max(priority, line.priority)
        var counts = line.counts
        // What a sweep left to single pushes is counted with those.
        if !line.isOfStragglers { counts.wanted -= counts.handed }
        self.counts += counts
        over += line.over
        firstPushMilliseconds = [firstPushMilliseconds, line.firstPushMilliseconds].compactMap { $0 }.min()
        lastPushMilliseconds = [lastPushMilliseconds, line.lastPushMilliseconds].compactMap { $0 }.max()
        heldMilliseconds = [heldMilliseconds, line.heldMilliseconds].compactMap { $0 }.max()
    }

    fileprivate mutating func isBehind(_ count: Int, since: Timestamp) {
        behind += count
        guard behind > 0 else { return }
        behindSince = [behindSince, since].compactMap { $0 }.min()
        if state == .done { state = .waiting }
    }

    fileprivate mutating func wait(_ count: Int) {
        waiting += count
        counts.wanted += count
    }
}

extension [Delivery] {
    fileprivate mutating func note(_ target: BehindTarget) {
        let line = newest(of: target.place, from: target.fromVersion, to: target.toVersion, state: target.state)
        self[line].isBehind(target.count, since: target.since)
    }

    /// Where their target is behind itself (`isCounted`), these phones are among those that it has behind.
    fileprivate mutating func note(_ late: WaitingStragglers, at place: DeliveryPlace, isCounted: Bool) {
        let line = newest(of: place, from: late.version, to: late.version, state: .waiting)
        self[line].wait(late.count)
        self[line].isBehind(isCounted ? 0 : late.count, since: late.since)
    }

    private mutating func newest(
        of place: DeliveryPlace,
        from: Int64,
        to: Int64,
        state: Delivery.State
    ) -> Int {
        let known = indices.filter { self[$0].place == place }.max { self[$0].toVersion < self[$1].toVersion }
        if let known, self[known].toVersion >= to { return known }
        append(Delivery(place, from: from, to: to, state: state))
        return count - 1
    }
}

extension Delivery.State {
    /// What is under way stands for what waits, and that for what is done.
    fileprivate var rank: Int {
        switch self {
        case .sending: 0
        case .waiting: 1
        case .done: 2
        }
    }
}
