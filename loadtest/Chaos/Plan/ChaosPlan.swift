/// Everything that will go wrong in a run: a value made of its seed and length alone, so that a seed replays.
struct ChaosPlan: Equatable, Sendable {
    let seed: Int
    let milliseconds: Int
    /// In the order of their beginning; all of them are over at the run's end.
    let faults: [ChaosFault]

    /// The leases of a service last ten seconds.
    private static let leaseMilliseconds = 10_000
    /// Nothing goes wrong before: matches are made and phones registered.
    private static let calmMilliseconds = 3_000

    /// - Parameters:
    ///   - seed: Any number.
    ///   - seconds: The run's length.
    ///   - services: How many there are; all but one may be away at a time, unless all are killed at once.
    ///   - groups: What may go wrong.
    ///   - paceMilliseconds: From one fault's beginning to the next one's, on average.
    init(
        seed: Int,
        seconds: Int,
        services: Int,
        groups: Set<ChaosFault.Group> = Set(ChaosFault.Group.allCases),
        paceMilliseconds: Int = 3_000
    ) {
        self.seed = seed
        milliseconds = seconds * 1_000
        let kinds = ChaosFault.Kind.allCases.filter { groups.contains($0.group) }
        var draft = Draft(dice: Dice(seed: seed, stream: "faults"), services: services)
        if !kinds.isEmpty {
            // Each round has every kind once: what is rare would otherwise be missing from a short run.
            var bag: [ChaosFault.Kind] = []
            var at = Self.calmMilliseconds
            while at < milliseconds {
                if bag.isEmpty { bag = draft.dice.shuffled(kinds) }
                draft.add(bag.removeLast(), at: at, end: milliseconds)
                at += draft.dice.number(in: paceMilliseconds / 2...paceMilliseconds * 3 / 2)
            }
        }
        faults = draft.faults.sorted { $0.atMilliseconds < $1.atMilliseconds }
    }

    /// What has been planned so far, and who is busy with it until when.
    private struct Draft {
        var dice: Dice
        let services: Int
        var faults: [ChaosFault] = []
        /// By service: when it runs again.
        var busyUntil: [Int]
        var databaseBusyUntil = 0
        var poolerBusyUntil = 0
        var kindBusyUntil: [ChaosFault.Kind: Int] = [:]

        init(dice: Dice, services: Int) {
            self.dice = dice
            self.services = services
            busyUntil = Array(repeating: 0, count: services)
        }

        /// Plans one more, unless it does not fit: numbers are drawn all the same.
        mutating func add(_ kind: ChaosFault.Kind, at: Int, end: Int) {
            let length = length(of: kind)
            let service = dice.number(in: 0...services - 1)
            let fault = ChaosFault(
                kind: kind,
                atMilliseconds: at,
                milliseconds: length,
                service: service,
                share: share(of: kind),
                form: dice.number(in: 0...9_999)
            )
            guard fault.endMilliseconds <= end, kindBusyUntil[kind, default: 0] <= at else { return }
            switch kind.group {
            case .service where kind == .killAll:
                guard busyUntil.allSatisfy({ $0 <= at }) else { return }
                busyUntil = Array(repeating: fault.endMilliseconds + ChaosPlan.restartMilliseconds, count: services)
            case .service:
                guard busyUntil[service] <= at, services == 1 || busyUntil.count(where: { $0 > at }) < services - 1
                else { return }
                busyUntil[service] = fault.endMilliseconds + ChaosPlan.restartMilliseconds
            case .database:
                guard databaseBusyUntil <= at else { return }
                databaseBusyUntil = fault.endMilliseconds + ChaosPlan.restartMilliseconds
            case .host where kind == .poolerRestart || kind == .poolerFreeze:
                guard poolerBusyUntil <= at else { return }
                poolerBusyUntil = fault.endMilliseconds + ChaosPlan.restartMilliseconds
            // On a full disk it may end, and it would not come back before there is room.
            case .host where kind == .diskFull:
                guard databaseBusyUntil <= at else { return }
                databaseBusyUntil = fault.endMilliseconds + ChaosPlan.restartMilliseconds
            case .apns, .host: break
            }
            kindBusyUntil[kind] = fault.endMilliseconds + 500
            faults.append(fault)
        }

        /// In milliseconds.
        private mutating func length(of kind: ChaosFault.Kind) -> Int {
            switch kind {
            case .stop: ChaosPlan.leaseMilliseconds + dice.number(in: 1_000...5_000)
            case .hang: dice.number(in: 500...6_000)
            case .kill, .killAll, .drain, .databaseKill, .databaseRestart, .poolerRestart: dice.number(in: 0...4_000)
            case .databaseFreeze, .poolerFreeze: dice.number(in: 500...6_000)
            case .clockStep, .diskFull: dice.number(in: 2_000...8_000)
            case .databaseCut, .allConnections: 0
            case .outage: dice.number(in: 1_000...6_000)
            case .refuse, .tlsFailure: dice.number(in: 500...4_000)
            case .goAway, .refusedStream, .reset, .silence, .mute, .close, .noWindow, .halfAnswer, .tcpReset, .tooMany,
                .internalError, .unavailable, .shutdown, .slow, .streamLimit, .lostAnswer:
                dice.number(in: 1_000...8_000)
            }
        }

        /// In percent; 0 is all.
        private mutating func share(of kind: ChaosFault.Kind) -> Int {
            switch kind {
            case .goAway, .silence, .mute, .close, .halfAnswer, .tcpReset, .lostAnswer: dice.number(in: 1...3)
            case .refusedStream, .reset, .tooMany, .internalError, .unavailable, .shutdown: dice.number(in: 5...60)
            case .slow: dice.number(in: 30...100)
            case .kill, .killAll, .stop, .hang, .drain, .databaseKill, .databaseRestart, .databaseCut, .databaseFreeze,
                .outage, .streamLimit, .refuse, .tlsFailure, .allConnections, .noWindow, .clockStep, .poolerRestart,
                .poolerFreeze, .diskFull:
                0
            }
        }
    }

    /// The same without faults of these kinds: what this machine cannot do.
    func without(_ kinds: Set<ChaosFault.Kind>) -> ChaosPlan {
        ChaosPlan(seed: seed, milliseconds: milliseconds, faults: faults.filter { !kinds.contains($0.kind) })
    }

    private init(seed: Int, milliseconds: Int, faults: [ChaosFault]) {
        self.seed = seed
        self.milliseconds = milliseconds
        self.faults = faults
    }

    /// What a service or PostgreSQL may take to be back after it was started again.
    private static let restartMilliseconds = 3_000
}
