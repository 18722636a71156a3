internal import APNsProtocol
package import Core
internal import PostgreSQL

/// What became of one version on all targets of one kind: `registered` is the sum of all that follows it.
package struct DeliverySum: Equatable, Sendable {
    package let kind: TargetKind
    package let version: Int64
    /// Phones (or channels) that were to get the version.
    package var registered = 0
    package var accepted = 0
    package var removed = 0
    package var refused = 0
    package var givenUp = 0
    /// That a newer version reached instead.
    package var merged = 0
    /// Whose push is still to come.
    package var waiting = 0
    /// Key pushes that went at priority 5.
    package var downgraded = 0
    /// Whose push pacing held back.
    package var delayed = 0
    /// Left without a push of their own by the bound of a match; they are not in `registered`.
    package var over = 0
    package var firstPushMilliseconds: Int64?
    package var lastPushMilliseconds: Int64?
    /// Nothing was lost from the books.
    package var addsUp = true

    init(kind: TargetKind, version: Int64) {
        self.kind = kind
        self.version = version
    }
}

/// A row of a match's turns, or of a target that runs or waits.
struct DeliveryLine {
    let kind: TargetKind
    let isOfStragglers: Bool
    let environment: APNsEnvironment
    let cadence: Cadence
    let shard: Int
    let fromVersion: Int64
    let toVersion: Int64
    let state: Delivery.State
    let priority: Int
    let counts: TurnCounts
    let over: Int
    let firstPushMilliseconds: Int64?
    let lastPushMilliseconds: Int64?
    let heldMilliseconds: Int64?
    let appDeclaresFrequent: Bool

    init(_ row: PGRow) {
        let stored = row.text(0)
        isOfStragglers = stored == "stragglers"
        kind = stored == TargetKind.channel.rawValue ? .channel : .tokens
        environment = row.value(1)
        cadence = row.value(2)
        shard = Int(row.int(3))
        fromVersion = row.int(4)
        toVersion = row.int(5)
        state = row.value(6)
        priority = Int(row.int(7))
        counts = TurnCounts(row, from: 8)
        let next = 8 + TurnCounts.columnCount
        over = Int(row.int(next))
        firstPushMilliseconds = row.optionalInt(next + 1)
        lastPushMilliseconds = row.optionalInt(next + 2)
        heldMilliseconds = row.optionalInt(next + 3)
        appDeclaresFrequent = row.bool(next + 4)
    }

    var place: DeliveryPlace {
        DeliveryPlace(
            kind: kind,
            environment: environment,
            cadence: cadence,
            appDeclaresFrequent: appDeclaresFrequent
        )
    }

    /// What all that was wanted became; for a sweep, what it handed over included.
    var addsUp: Bool {
        let ends = counts.accepted + counts.removed + counts.refused + counts.givenUp + counts.merged
        return counts.wanted == ends + (isOfStragglers ? 0 : counts.handed)
    }
}

/// Stragglers of one version that wait.
struct WaitingStragglers {
    let environment: APNsEnvironment
    let cadence: Cadence
    let shard: Int
    let version: Int64
    let count: Int
    let handed: Int
    /// When the first of them failed, or registered.
    let since: Timestamp
}

extension DeliverySum {
    /// Of versions that some target came to; those between were merged on all.
    static func all(_ lines: [DeliveryLine], _ waiting: [WaitingStragglers]) -> [DeliverySum] {
        var sums: [DeliverySum] = []
        for kind in [TargetKind.channel, .tokens] {
            let ofKind = lines.filter { $0.kind == kind }
            let late = kind == .tokens ? waiting : []
            for version in Set(ofKind.map(\.toVersion)).union(late.map(\.version)) {
                var sum = DeliverySum(kind: kind, version: version)
                sum.add(ofKind, late.filter { $0.version == version })
                sums.append(sum)
            }
        }
        return sums.sorted { ($0.version, $0.kind.rawValue) < ($1.version, $1.kind.rawValue) }
    }

    private mutating func add(_ lines: [DeliveryLine], _ late: [WaitingStragglers]) {
        var handed = 0
        for line in lines where line.fromVersion <= version && version <= line.toVersion {
            let counts = line.counts
            guard line.toVersion == version else {
                if line.state == .done {
                    registered += counts.wanted
                    merged += counts.wanted
                }
                continue
            }
            registered += counts.wanted
            accepted += counts.accepted
            removed += counts.removed
            refused += counts.refused
            givenUp += counts.givenUp
            merged += counts.merged
            downgraded += counts.downgraded
            over += line.over
            if line.heldMilliseconds != nil { delayed += counts.wanted }
            if line.isOfStragglers {
                handed -= counts.handed
            } else {
                registered -= counts.handed
                handed += counts.handed
            }
            addsUp = addsUp && line.addsUp
            firstPushMilliseconds = [firstPushMilliseconds, line.firstPushMilliseconds].compactMap { $0 }.min()
            lastPushMilliseconds = [lastPushMilliseconds, line.lastPushMilliseconds].compactMap { $0 }.max()
        }
        waiting = late.reduce(0) { $0 + $1.count }
        registered += waiting
        addsUp = addsUp && handed == late.reduce(0) { $0 + $1.handed }
    }
}
