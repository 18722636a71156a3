/// In which order due targets are taken: `key` before routine, channels before tokens, then tenants in turn, then the
/// longest due. A tenant with a million tokens due holds up nobody else's channel by more than one round of claims.
package enum ClaimOrder {
    package struct Candidate<Tenant: Hashable & Sendable>: Sendable {
        package let tenant: Tenant
        package let isUrgent: Bool
        package let kind: TargetKind
        package let dueAt: Moment

        package init(tenant: Tenant, isUrgent: Bool, kind: TargetKind, dueAt: Moment) {
            self.tenant = tenant
            self.isUrgent = isUrgent
            self.kind = kind
            self.dueAt = dueAt
        }

        fileprivate var rank: Int { (isUrgent ? 0 : 2) + (kind == .channel ? 0 : 1) }
    }

    /// Chooses candidates for the places that are free, in the order of ``arranged(_:running:)``.
    ///
    /// One place of four at least is every rank's own: a flood of channel pushes keeps nobody's tokens waiting.
    ///
    /// - Parameters:
    ///   - candidates: What is due.
    ///   - running: How many targets of a tenant run already.
    ///   - places: How many may be chosen.
    ///   - tokens: How many of them may be shards of tokens.
    /// - Returns: Indices into `candidates`, first to be taken first.
    package static func chosen<Tenant>(
        _ candidates: [Candidate<Tenant>],
        running: [Tenant: Int] = [:],
        places: Int,
        tokens: Int
    ) -> [Int] {
        let order = arranged(candidates, running: running)
        var ranks: Set<Int> = []
        let firsts = places < 4 ? [] : order.filter { ranks.insert(candidates[$0].rank).inserted }
        var (free, freeForTokens) = (places, tokens)
        var chosen: Set<Int> = []
        for index in firsts + order where free > 0 && !chosen.contains(index) {
            if candidates[index].kind == .tokens {
                guard freeForTokens > 0 else { continue }
                freeForTokens -= 1
            }
            free -= 1
            chosen.insert(index)
        }
        return order.filter(chosen.contains)
    }

    /// Arranges candidates.
    ///
    /// - Parameters:
    ///   - candidates: What is due.
    ///   - running: How many targets of a tenant run already: it takes that many places behind the others.
    /// - Returns: Indices into `candidates`, first to be taken first.
    package static func arranged<Tenant>(
        _ candidates: [Candidate<Tenant>],
        running: [Tenant: Int] = [:]
    ) -> [Int] {
        var order: [Int] = []
        order.reserveCapacity(candidates.count)
        for rank in 0..<4 {
            var rounds: [Tenant: Int] = running
            let ranked = candidates.indices.filter { candidates[$0].rank == rank }
                .sorted { (candidates[$0].dueAt, $0) < (candidates[$1].dueAt, $1) }
                .map { index -> (round: Int, index: Int) in
                    let tenant = candidates[index].tenant
                    defer { rounds[tenant, default: 0] += 1 }
                    return (rounds[tenant, default: 0], index)
                }
            // The sort is stable in effect: places within a round go by the order just made.
            order += ranked.enumerated().sorted { ($0.element.round, $0.offset) < ($1.element.round, $1.offset) }
                .map(\.element.index)
        }
        return order
    }
}
