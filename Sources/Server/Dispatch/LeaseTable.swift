internal import EventLoop
internal import Core
internal import Store

/// The leases that this process holds, as far as it knows.
///
/// Whether one still holds is judged by this process's own clock, from before the claim was asked for: a process that
/// was stopped for a while finds its leases over without asking.
final class LeaseTable: Sendable {
    private struct Entry {
        let epoch: Int64
        var validUntil: ContinuousClock.Instant
        /// What works under the lease: cancelled when it is lost, so that what it has queued is withdrawn.
        var work: Task<Void, Never>?
    }

    private let entries = ThreadLock<[TargetKey: Entry]>([:])

    func add(_ records: [TargetRecord], until instant: ContinuousClock.Instant) {
        entries.withLock { entries in
            for record in records { entries[record.key] = Entry(epoch: record.epoch, validUntil: instant) }
        }
    }

    /// Hands over the task that works under a lease. If that is lost already, the task is cancelled at once.
    func attach(_ work: Task<Void, Never>, to record: TargetRecord) {
        let isHeld = entries.withLock { entries in
            guard entries[record.key]?.epoch == record.epoch else { return false }
            entries[record.key]?.work = work
            return true
        }
        if !isHeld { work.cancel() }
    }

    func remove(_ record: TargetRecord) {
        entries.withLock { entries in
            if entries[record.key]?.epoch == record.epoch { entries[record.key] = nil }
        }
    }

    func isHeld(_ record: TargetRecord, at now: ContinuousClock.Instant = .now) -> Bool {
        entries.withLock { entries in
            guard let entry = entries[record.key], entry.epoch == record.epoch else { return false }
            return now < entry.validUntil
        }
    }

    /// What is to be renewed.
    var epochs: [TargetKey: Int64] {
        entries.withLock { $0.mapValues(\.epoch) }
    }

    /// Takes over a renewal's answer: what is not in `held` any more is lost.
    func renewed(_ asked: [TargetKey: Int64], held: Set<TargetKey>, until instant: ContinuousClock.Instant) {
        let lost = entries.withLock { entries in
            var lost: [Task<Void, Never>?] = []
            for (key, epoch) in asked where entries[key]?.epoch == epoch {
                if held.contains(key) {
                    entries[key]?.validUntil = instant
                } else {
                    lost.append(entries.removeValue(forKey: key)?.work)
                }
            }
            return lost
        }
        for work in lost { work?.cancel() }
    }

    /// Gives up the leases that nobody could renew in time.
    func expire(at now: ContinuousClock.Instant = .now) {
        let lost = entries.withLock { entries in
            let over = entries.filter { $0.value.validUntil <= now }
            for key in over.keys { entries[key] = nil }
            return over.values.map(\.work)
        }
        for work in lost { work?.cancel() }
    }

    var count: Int { entries.withLock(\.count) }

    /// What is left of places for targets.
    ///
    /// - Parameters:
    ///   - all: The places.
    ///   - tokens: How many of them shards may take.
    /// - Returns: How many more targets may be claimed.
    func room(all: Int, tokens: Int) -> ClaimRoom {
        entries.withLock { entries in
            ClaimRoom(all: all - entries.count, tokens: tokens - entries.keys.count { $0.kind == .tokens })
        }
    }

    func runningByTenant() -> [TenantID: Int] {
        entries.withLock { entries in
            entries.keys.reduce(into: [:]) { $0[$1.match.tenant, default: 0] += 1 }
        }
    }
}
