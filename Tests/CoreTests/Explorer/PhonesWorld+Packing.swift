import Core

// Registration numbers and epochs are only compared with others of the same phone, or shard: they are renumbered, so
// that two worlds which differ in nothing else are one.
extension PhonesWorld {
    func pack(into packer: inout Packer, _ setting: Setting) {
        packer.write(accepted, bits: 3)
        packer.write(stamped, bits: 3)
        packer.write(expired, bits: 3)
        packer.write(setting.budget.rests ? dueKind(dueAt) : 0, bits: 3)
        packer.write(registrations, bits: 2)
        packer.write(failures, bits: 2)
        packer.write(unknown, bits: 2)
        packer.write(lost, bits: 2)
        packer.write(expiries, bits: 1)
        packer.write(removals, bits: 1)
        for index in shards.indices { packShard(index, into: &packer) }
        let numbers = phones.indices.map(registrationNumbers)
        for index in phones.indices { packPhone(index, numbers[index], into: &packer) }

        let order =
            sends.count < 2
            ? Array(sends.indices)
            : sends.indices.sorted {
                (sends[$0].shard, sends[$0].plan.epoch) < (sends[$1].shard, sends[$1].plan.epoch)
            }
        packer.write(order.count, bits: 2)
        for index in order { packSend(sends[index], numbers, into: &packer) }
        let rest =
            doubts.count < 2
            ? Array(doubts.indices)
            : doubts.indices.sorted {
                (doubts[$0].phone, doubts[$0].shard, doubts[$0].plan.epoch)
                    < (doubts[$1].phone, doubts[$1].shard, doubts[$1].plan.epoch)
            }
        packer.write(rest.count, bits: 3)
        for index in rest {
            let doubt = doubts[index]
            packer.write(doubt.phone, bits: 1)
            packer.write(doubt.shard, bits: 1)
            packer.write(rank(of: doubt.plan.epoch, in: doubt.shard), bits: 3)
            packer.write(Int(doubt.plan.version), bits: 3)
            packer.write(Int(doubt.plan.alert), bits: 3)
            pack(doubt.plan.pushes[0], doubt.state, numbers[doubt.phone], into: &packer)
        }
    }

    private func packShard(_ index: Int, into packer: inout Packer) {
        let slot = shards[index]
        packer.write(slot.isMade)
        guard slot.isMade else { return }
        let shard = slot.shard
        packer.write(Int(shard.reached.frequent), bits: 3)
        packer.write(Int(shard.reached.standard), bits: 3)
        packer.write(Int(shard.alerted), bits: 3)
        packer.write(shard.pacing.standard.routineAt != nil)
        packer.write(shard.lease.until != nil)
        packer.write(rank(of: shard.lease.epoch, in: index), bits: 3)
    }

    private func packPhone(_ index: Int, _ numbers: [Int64], into packer: inout Packer) {
        let phone = phones[index]
        packer.write(phone.isRegistered)
        packer.write(phone.isAlive)
        packer.write(phone.shard, bits: 1)
        packer.write(phone.row.cadence == .standard)
        packer.write(rank(of: phone.row.registration, in: numbers), bits: 3)
        packer.write(rank(of: phone.tokenSince, in: numbers), bits: 3)
        packer.write(phone.hasFailed)
        packer.write(phone.asks)
        packer.write(phone.shows, bits: 3)
        packer.write(phone.hasEnded)
        packer.write(phone.heard >> 1, bits: 5)
        packer.write(phone.waived >> 1, bits: 5)
        packer.write(phone.riskVersions >> 1, bits: 5)
        packer.write(phone.riskAlerts >> 1, bits: 5)
        let log = phone.log.filter { numbers.contains($0.registration) }.sorted { $0.registration < $1.registration }
        packer.write(log.count, bits: 3)
        for one in log {
            packer.write(rank(of: one.registration, in: numbers), bits: 3)
            packer.write(one.versions >> 1, bits: 5)
        }
        packer.write(phone.row.entry != nil)
        guard let entry = phone.row.entry else { return }
        packer.write(Int(entry.version), bits: 3)
        packer.write(entry.alert.map { Int($0) } ?? 7, bits: 3)
        packer.write(entry.attempts == 0 ? 0 : entry.attempts < RetryRule.attempts ? 1 : 2, bits: 2)
        packer.write(Int(entry.tried), bits: 3)
        packer.write(dueKind(entry.dueAt), bits: 3)
        let hold = entry.hold.flatMap { $0.until > Clock.now ? $0 : nil }
        packer.write(hold != nil)
        if let hold { packer.write(rank(of: hold.epoch, in: phone.shard), bits: 3) }
    }

    private func packSend(_ send: Send, _ numbers: [[Int64]], into packer: inout Packer) {
        packer.write(send.shard, bits: 1)
        packer.write(rank(of: send.plan.epoch, in: send.shard), bits: 3)
        packer.write(Int(send.plan.version), bits: 3)
        packer.write(Int(send.plan.alert), bits: 3)
        packer.write(send.plan.isRoutine)
        for cadence in Cadence.ofPhones {
            let covered = send.plan.covered[cadence]
            packer.write(covered.map { $0.isUrgent ? 2 : 1 } ?? 0, bits: 2)
        }
        packer.write(send.plan.pushes.count, bits: 2)
        for (push, state) in zip(send.plan.pushes, send.states) {
            packer.write(push.phone, bits: 1)
            pack(push, state, numbers[push.phone], into: &packer)
        }
        packer.write(send.plan.leftOut.count, bits: 2)
        for other in send.plan.leftOut {
            packer.write(other.phone, bits: 1)
            packer.write(rank(of: other.registration, in: numbers[other.phone]), bits: 3)
            switch other.reason {
            case .held: packer.write(0, bits: 3)
            case .gap: packer.write(1, bits: 3)
            case .notDue: packer.write(2, bits: 3)
            case .exhausted: packer.write(3, bits: 3)
            case .upToDate: packer.write(4, bits: 3)
            }
        }
    }

    private func pack(_ push: SendPlan.Push, _ state: PushState, _ numbers: [Int64], into packer: inout Packer) {
        packer.write(rank(of: push.registration, in: numbers), bits: 3)
        packer.write(Int(push.read.version), bits: 3)
        packer.write(Int(push.read.alert), bits: 3)
        packer.write(push.hasEntry)
        packer.write(push.carriesAlert)
        packer.write(push.cadence == .standard)
        packer.write(state.rawValue, bits: 4)
    }

    init(from reader: inout PackReader, _ setting: Setting) {
        accepted = reader.read(bits: 3)
        stamped = reader.read(bits: 3)
        expired = reader.read(bits: 3)
        let due = reader.read(bits: 3)
        dueAt = setting.budget.rests ? Self.dueDate(due) : Clock.now
        registrations = reader.read(bits: 2)
        failures = reader.read(bits: 2)
        unknown = reader.read(bits: 2)
        lost = reader.read(bits: 2)
        expiries = reader.read(bits: 1)
        removals = reader.read(bits: 1)
        for _ in 0..<setting.budget.shards { shards.append(Self.shard(from: &reader)) }
        for _ in 0..<setting.budget.phones { phones.append(Self.phone(from: &reader)) }
        for _ in 0..<reader.read(bits: 2) { readSend(from: &reader, setting) }
        for _ in 0..<reader.read(bits: 3) {
            let phone = reader.read(bits: 1)
            let shard = reader.read(bits: 1)
            let epoch = Int64(reader.read(bits: 3))
            let version = reader.read(bits: 3)
            let alert = Int64(reader.read(bits: 3))
            let (push, state) = Self.push(phone, from: &reader)
            let plan = SendPlan(
                epoch: epoch,
                version: Int64(version),
                neededVersion: Int64(setting.neededOf[version]),
                alert: alert,
                isRoutine: false,
                pushes: [push]
            )
            doubts.append(Doubt(phone: phone, shard: shard, plan: plan, state: state))
        }
    }

    private static func shard(from reader: inout PackReader) -> ShardSlot {
        guard reader.readFlag() else { return ShardSlot(isMade: false, shard: Shard()) }
        var shard = Shard()
        shard.reached.frequent = Int64(reader.read(bits: 3))
        shard.reached.standard = Int64(reader.read(bits: 3))
        shard.alerted = Int64(reader.read(bits: 3))
        if reader.readFlag() { shard.pacing.standard.routineAt = Clock.now }
        if reader.readFlag() { shard.lease.until = Clock.leaseEnd }
        shard.lease.epoch = Int64(reader.read(bits: 3))
        return ShardSlot(isMade: true, shard: shard)
    }

    private static func phone(from reader: inout PackReader) -> PhoneSlot {
        let isRegistered = reader.readFlag()
        let isAlive = reader.readFlag()
        let shard = reader.read(bits: 1)
        let cadence: Cadence = reader.readFlag() ? .standard : .frequent
        let row = Phone(registration: Int64(reader.read(bits: 3)), registeredAt: Clock.past, cadence: cadence)
        var phone = PhoneSlot(isRegistered: isRegistered, shard: shard, row: row, isAlive: isAlive)
        phone.tokenSince = Int64(reader.read(bits: 3))
        phone.hasFailed = reader.readFlag()
        phone.asks = reader.readFlag()
        phone.shows = reader.read(bits: 3)
        phone.hasEnded = reader.readFlag()
        phone.heard = reader.read(bits: 5) << 1
        phone.waived = reader.read(bits: 5) << 1
        phone.riskVersions = reader.read(bits: 5) << 1
        phone.riskAlerts = reader.read(bits: 5) << 1
        for _ in 0..<reader.read(bits: 3) {
            let registration = Int64(reader.read(bits: 3))
            phone.log.append((registration, reader.read(bits: 5) << 1))
        }
        guard reader.readFlag() else { return phone }
        let version = Int64(reader.read(bits: 3))
        let alert = reader.read(bits: 3)
        var entry = Entry(version: version, alert: alert == 7 ? nil : Int64(alert))
        // The next failure of a phone that failed before exhausts its attempts.
        entry.attempts = [0, RetryRule.attempts - 1, RetryRule.attempts][reader.read(bits: 2)]
        entry.tried = Int64(reader.read(bits: 3))
        entry.dueAt = dueDate(reader.read(bits: 3))
        if reader.readFlag() { entry.hold = Entry.Hold(epoch: Int64(reader.read(bits: 3)), until: Clock.holdEnd) }
        phone.row.entry = entry
        return phone
    }

    private mutating func readSend(from reader: inout PackReader, _ setting: Setting) {
        let shard = reader.read(bits: 1)
        let epoch = Int64(reader.read(bits: 3))
        let version = reader.read(bits: 3)
        var plan = SendPlan(
            epoch: epoch,
            version: Int64(version),
            neededVersion: Int64(setting.neededOf[version]),
            alert: Int64(reader.read(bits: 3)),
            isRoutine: reader.readFlag()
        )
        for cadence in Cadence.ofPhones {
            let covered = reader.read(bits: 2)
            guard covered > 0 else { continue }
            var pacing = shards[shard].shard.pacing[cadence]
            if covered == 1 { pacing.routineAt = Clock.now }
            plan.covered[cadence] = SendPlan.Coverage(
                from: min(shards[shard].shard.reached[cadence], Int64(version) - 1),
                isUrgent: covered == 2,
                priority: covered == 2 ? 10 : 5,
                isDowngraded: false,
                pacing: pacing
            )
        }
        var states: [PushState] = []
        for _ in 0..<reader.read(bits: 2) {
            let (push, state) = Self.push(reader.read(bits: 1), from: &reader)
            plan.pushes.append(push)
            states.append(state)
        }
        for _ in 0..<reader.read(bits: 2) {
            let phone = reader.read(bits: 1)
            let registration = Int64(reader.read(bits: 3))
            let reason: SendPlan.LeftOut.Reason =
                switch reader.read(bits: 3) {
                case 0: .held
                case 1: .gap(until: Clock.gapEnd)
                case 2: .notDue
                case 3: .exhausted
                default: .upToDate
                }
            plan.leftOut.append(SendPlan.LeftOut(phone: phone, registration: registration, reason: reason))
        }
        sends.append(Send(shard: shard, plan: plan, states: states))
    }

    private static func push(_ phone: Int, from reader: inout PackReader) -> (SendPlan.Push, PushState) {
        let registration = Int64(reader.read(bits: 3))
        let read = PhoneState(version: Int64(reader.read(bits: 3)), alert: Int64(reader.read(bits: 3)))
        let hasEntry = reader.readFlag()
        let carriesAlert = reader.readFlag()
        let cadence: Cadence = reader.readFlag() ? .standard : .frequent
        let push = SendPlan.Push(
            phone: phone,
            registration: registration,
            cadence: cadence,
            read: read,
            hasEntry: hasEntry,
            carriesAlert: carriesAlert,
            isUrgent: false,
            priority: 5
        )
        return (push, PushState(rawValue: reader.read(bits: 4)) ?? .gone)
    }

    // MARK: Numbers

    /// Of a phone: those that may still be compared with.
    private func registrationNumbers(_ index: Int) -> [Int64] {
        var numbers = [phones[index].row.registration]
        func add(_ number: Int64) {
            if !numbers.contains(number) { numbers.append(number) }
        }
        add(phones[index].tokenSince)
        for send in sends {
            for push in send.plan.pushes where push.phone == index { add(push.registration) }
            for other in send.plan.leftOut where other.phone == index { add(other.registration) }
        }
        for doubt in doubts where doubt.phone == index { add(doubt.plan.pushes[0].registration) }
        return numbers
    }

    private func rank(of number: Int64, in numbers: [Int64]) -> Int {
        var rank = 0
        for other in numbers where other < number { rank += 1 }
        return rank
    }

    /// How many epochs below this one of a shard somebody may still name.
    private func rank(of epoch: Int64, in shard: Int) -> Int {
        var lower: [Int64] = []
        func add(_ other: Int64) {
            if other < epoch && !lower.contains(other) { lower.append(other) }
        }
        add(shards[shard].shard.lease.epoch)
        for send in sends where send.shard == shard { add(send.plan.epoch) }
        for doubt in doubts where doubt.shard == shard { add(doubt.plan.epoch) }
        for phone in phones where phone.shard == shard {
            if let hold = phone.row.entry?.hold, hold.until > Clock.now { add(hold.epoch) }
        }
        return lower.count
    }

    private func dueKind(_ moment: Moment?) -> Int {
        guard let moment else { return 0 }
        if moment <= Clock.now { return 1 }
        if moment == Clock.gapEnd { return 2 }
        if moment == Clock.holdEnd { return 3 }
        if moment == Clock.leaseEnd { return 4 }
        return 5
    }

    private static func dueDate(_ kind: Int) -> Moment? {
        switch kind {
        case 0: nil
        case 1: Clock.now
        case 2: Clock.gapEnd
        case 3: Clock.holdEnd
        case 4: Clock.leaseEnd
        default: Clock.retryAt
        }
    }
}
