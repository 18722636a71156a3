import Core

extension MatchesWorld {
    func pack(into packer: inout Packer, _ setting: Setting) {
        packer.write(isPaused)
        packer.write(isDown)
        packer.write(outages, bits: 2)
        packer.write(failures, bits: 2)
        packer.write(pauses, bits: 2)
        packer.write(lost, bits: 2)
        packer.write(kind(nextProbeAt), bits: 3)
        for match in matches {
            packer.write(match.accepted, bits: 3)
            packer.write(kind(match.dueAt), bits: 3)
            packer.write(Int(match.shard.reached.frequent), bits: 3)
            packer.write(match.shard.lease.until != nil)
            packer.write(match.shows, bits: 3)
            packer.write(match.entry != nil)
            if let entry = match.entry {
                packer.write(Int(entry.version), bits: 3)
                packer.write(Int(entry.tried), bits: 3)
                packer.write(kind(entry.dueAt), bits: 3)
            }
            packer.write(match.plan != nil)
            guard let plan = match.plan else { continue }
            packer.write(Int(plan.version), bits: 3)
            packer.write(plan.covers)
            packer.write(match.isProbe)
            packer.write(match.outcome.map { $0 ? 1 : 2 } ?? 0, bits: 2)
            packer.write(plan.pushes.count, bits: 1)
            for push in plan.pushes {
                packer.write(Int(push.read.version), bits: 3)
                packer.write(push.hasEntry)
            }
            packer.write(plan.leftOut.count, bits: 1)
            for other in plan.leftOut { packer.write(other.reason == .upToDate) }
        }
    }

    init(from reader: inout PackReader, _ setting: Setting) {
        isPaused = reader.readFlag()
        isDown = reader.readFlag()
        outages = reader.read(bits: 2)
        failures = reader.read(bits: 2)
        pauses = reader.read(bits: 2)
        lost = reader.read(bits: 2)
        nextProbeAt = Self.date(reader.read(bits: 3))
        for index in matches.indices {
            var match = Match()
            match.accepted = reader.read(bits: 3)
            match.dueAt = Self.date(reader.read(bits: 3))
            match.shard.reached = PerCadence(both: Int64(reader.read(bits: 3)))
            if reader.readFlag() { match.shard.lease.until = Clock.leaseEnd }
            match.shows = reader.read(bits: 3)
            if reader.readFlag() {
                var entry = Entry(version: Int64(reader.read(bits: 3)), alert: 0)
                entry.tried = Int64(reader.read(bits: 3))
                entry.attempts = entry.tried > 0 ? 1 : 0
                entry.dueAt = Self.date(reader.read(bits: 3))
                match.entry = entry
            }
            if reader.readFlag() { Self.readSend(of: &match, from: &reader) }
            matches[index] = match
        }
    }

    private static func readSend(of match: inout Match, from reader: inout PackReader) {
        let version = Int64(reader.read(bits: 3))
        var plan = SendPlan(epoch: 0, version: version, neededVersion: version, alert: 0, isRoutine: false)
        if reader.readFlag() {
            plan.covered = PerCadence(
                both: SendPlan.Coverage(
                    from: min(match.shard.reached.frequent, version - 1),
                    isUrgent: true,
                    priority: 10,
                    isDowngraded: false,
                    pacing: PacingRecord()
                )
            )
        }
        match.isProbe = reader.readFlag()
        match.outcome = [nil, true, false][reader.read(bits: 2)]
        for _ in 0..<reader.read(bits: 1) {
            let read = PhoneState(version: Int64(reader.read(bits: 3)), alert: 0)
            plan.pushes.append(
                SendPlan.Push(
                    phone: 0,
                    registration: 0,
                    cadence: .frequent,
                    read: read,
                    hasEntry: reader.readFlag(),
                    carriesAlert: false,
                    isUrgent: false,
                    priority: 5
                )
            )
        }
        for _ in 0..<reader.read(bits: 1) {
            plan.leftOut.append(
                SendPlan.LeftOut(phone: 0, registration: 0, reason: reader.readFlag() ? .upToDate : .notDue)
            )
        }
        match.plan = plan
    }

    private func kind(_ moment: Moment?) -> Int {
        guard let moment else { return 0 }
        if moment <= Clock.now { return 1 }
        if moment == Self.probeAt { return 2 }
        if moment == Self.probeEnd { return 3 }
        return moment == Clock.leaseEnd ? 4 : 5
    }

    private static func date(_ kind: Int) -> Moment? {
        switch kind {
        case 0: nil
        case 1: Clock.now
        case 2: probeAt
        case 3: probeEnd
        case 4: Clock.leaseEnd
        default: Clock.retryAt
        }
    }
}
