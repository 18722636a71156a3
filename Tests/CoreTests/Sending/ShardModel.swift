import Core

/// A shard of tokens and its match in memory, swept page by page as a runner does it.
struct ShardModel {
    /// What one token was sent, in order.
    struct Phone {
        let row: Int64
        var versions: [Int64] = []
        var sentAt: [Moment] = []
        var priorities: [Int] = []
        /// The alerts it has had, by the version that brought them.
        var alerts: [Int64] = []
    }

    var head = MatchHead(version: 0)
    var now = Moment(seconds: 1_790_000_000)
    var phones: [Phone]
    var sweep = Sweep()
    var limits = PacingLimits(gap: .seconds(5), urgentPerHour: 120)
    let pageSize: Int

    init(phones: Int, pageSize: Int) {
        self.phones = (1...phones).map { Phone(row: Int64($0)) }
        self.pageSize = pageSize
    }

    mutating func event(isKey: Bool, hasAlert: Bool = false) {
        head.version += 1
        if isKey { head.urgentVersion = head.version }
        if hasAlert {
            head.alertVersion = head.version
            head.alertExpiresAt = now + AlertRule.lifetime
        }
    }

    /// Reads and sends one page, and commits it unless told otherwise.
    @discardableResult
    mutating func page(commits: Bool = true) -> Sweep.Step {
        let range = sweep.nextRange
        let rows = phones.indices.filter { phones[$0].row > range.after && phones[$0].row <= range.through }
            .prefix(pageSize)
        let step = sweep.plan(
            page: Sweep.Page(
                range: range,
                lastRow: rows.last.map { phones[$0].row },
                isFull: rows.count == pageSize,
                highestRow: phones.last?.row ?? 0
            ),
            head: head,
            limits: limits,
            now: now
        )
        guard case .send(let plan) = step else { return step }
        for index in rows where phones[index].row <= plan.after.limit {
            phones[index].versions.append(plan.after.taken)
            phones[index].sentAt.append(now)
            phones[index].priorities.append(plan.priority)
            if plan.carriesAlert { phones[index].alerts.append(plan.after.alertVersion) }
        }
        if commits { sweep = plan.after }
        return step
    }

    /// Sends pages, waiting where pacing wants it, until nothing is behind.
    ///
    /// - Returns: How many pages it took; nil if it did not come to rest.
    @discardableResult
    mutating func run(pagesAtMost: Int = 10_000) -> Int? {
        for count in 0..<pagesAtMost {
            switch page() {
            case .send: continue
            case .wait(let until): now = until
            case .rest: return count
            }
        }
        return nil
    }
}
