internal import APNs
internal import APNsProtocol
internal import Core
internal import Store

/// Drives one shard's sweep from the claim of its target to its release.
///
/// Pages are read one after the other and sent side by side; their outcomes are committed in the order of reading, so
/// that the stored cursor never passes a page whose outcomes are not known.
struct SweepRunner {
    private let context: DispatchContext
    /// As it stands in the database.
    private var record: TargetRecord
    /// As it will stand when all pages in flight are committed.
    private var planned: Sweep
    private var fullWindow: SweepWindow
    private var flying = 0
    private var nextRead = 0
    private var fastest: Duration?
    private var nextCommit = 0
    private var sent: [Int: SentPage] = [:]
    private var rowsInFlight = RowsInFlight()
    /// Tokens of the shard, as far as it matters.
    private var tokens = 0
    /// Pushes whose cursor a crash of the database could take back, and those of them that a flush is under way for.
    private var volatilePushes = 0
    private var flushing: Int?
    private var ending: Ending?
    /// The next page is one push that tries whether an outage is over.
    private var isProbing = false
    /// Of the app that the pages go out for.
    private var route: RouteKey?
    /// A page is to be sent again, and with it those behind.
    private var hasKeptCursor = false
    /// When the event of the version that is being sent was accepted; nil before this process has committed a page of it.
    private var takenAcceptedAt: Moment?
    /// The newest version that was looked at.
    private var seenVersion: Int64 = 0

    /// Why no more pages are read.
    private enum Ending {
        /// The turn's last page was read; its commit releases the target.
        case turnEnds
        /// Given back until then; nil: until something marks it.
        case release(after: Duration?)
        case leaseLost
    }

    /// What the runner waits for.
    private enum Step: Sendable {
        case sent(SentPage)
        case flushed(Result<Void, StoreError>)
    }

    init(_ record: TargetRecord, context: DispatchContext) {
        self.context = context
        self.record = record
        planned = record.sweep
        fullWindow = SweepWindow(tokens: 0, context.configuration)
    }

    private var window: SweepWindow {
        if isProbing { return .probe }
        return record.backoff > 0 ? .trying(context.configuration) : fullWindow
    }

    /// Runs until the target is released, or its lease is lost.
    ///
    /// - Throws: ``StoreError``: the target stays leased, and is due again when that is over.
    mutating func run() async throws(StoreError) {
        let outcome: Result<Void, StoreError> = await withTaskGroup(of: Step.self) { group in
            do throws(StoreError) {
                try await work(in: &group)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        // Pages that were not committed still hold their permits.
        for _ in nextCommit..<nextRead { context.permits.give() }
        if isProbing, let route { try? await context.store.giveBackProbe(of: route, by: context.storeDeadline) }
        try outcome.get()
        try await release()
    }

    private mutating func work(in group: inout TaskGroup<Step>) async throws(StoreError) {
        tokens = try await context.store.countTokens(
            of: record.key,
            upTo: SweepWindow.enough(context.configuration),
            by: context.storeDeadline
        )
        fullWindow = SweepWindow(tokens: tokens, context.configuration)
        while true {
            while ending == nil, flying < min(window.pages, pagesForDistance), !mustFlush,
                let range = rowsInFlight.free(of: planned.nextRange), await mayRead()
            {
                guard let page = try await readPageOrGivePermit(range) else { continue }
                flying += 1
                nextRead += 1
                let sender = context
                group.addTask { .sent(await Self.send(page, context: sender)) }
            }
            beginFlush(in: &group)
            // A turn that ends rests when it is known; its flush is the last commit's own.
            guard flying > 0 || mustFlush && ending == nil, let next = await group.next() else { return }
            switch next {
            case .sent(let page): try await take(page)
            case .flushed(let result): try endFlush(result)
            }
        }
    }

    private mutating func take(_ next: SentPage) async throws(StoreError) {
        flying -= 1
        rowsInFlight.end(next.page.place)
        if !next.page.rows.isEmpty { fastest = min(fastest ?? next.took, next.took) }
        sent[next.page.place] = next
        while let page = sent.removeValue(forKey: nextCommit) {
            try await settle(page)
            context.permits.give()
            nextCommit += 1
        }
    }

    // MARK: - The database's disk

    /// More could be taken back by a crash of the database than may be: no page is read before the disk has it.
    private var mustFlush: Bool { volatilePushes > SweepWindow.volatilePushes(tokens) }

    /// Pages are committed without waiting for the disk; one flush at a time follows them, beside the sending.
    private mutating func beginFlush(in group: inout TaskGroup<Step>) {
        guard flushing == nil, volatilePushes * 2 > SweepWindow.volatilePushes(tokens) else { return }
        flushing = volatilePushes
        let sender = context
        group.addTask {
            do throws(StoreError) {
                try await sender.store.flush(by: sender.storeDeadline)
                return .flushed(.success(()))
            } catch {
                return .flushed(.failure(error))
            }
        }
    }

    private mutating func endFlush(_ result: Result<Void, StoreError>) throws(StoreError) {
        volatilePushes -= flushing ?? 0
        flushing = nil
        try result.get()
    }

    /// How many pages may be under way: as many as keep APNs busy at its distance, and no more, since they are what a
    /// crash sends twice. The fastest page tells the distance; later ones have queued behind each other.
    private var pagesForDistance: Int {
        guard let fastest else { return 3 }
        return min(3 + Int(fastest / .milliseconds(8)), context.configuration.pagesPerTarget)
    }

    /// Waits for a permit only while nothing is in flight: outcomes that have come are committed first.
    private mutating func mayRead() async -> Bool {
        if context.isDraining {
            ending = .release(after: .zero)
            return false
        }
        if flying > 0 { return context.permits.tryTake() }
        await context.permits.take(isUrgent: planned.lap?.isUrgent ?? true)
        return true
    }

    // MARK: - Reading

    private mutating func readPageOrGivePermit(_ range: Sweep.Range) async throws(StoreError) -> Page? {
        do throws(StoreError) {
            if let page = try await readPage(range) { return page }
        } catch {
            context.permits.give()
            throw error
        }
        context.permits.give()
        return nil
    }

    /// Reads and plans the next page.
    ///
    /// - Returns: nil: there is none now; ``ending`` says why, or the page is to be read again.
    private mutating func readPage(_ range: Sweep.Range) async throws(StoreError) -> Page? {
        guard context.leases.isHeld(record) else {
            ending = .leaseLost
            return nil
        }
        let readAt = ContinuousClock.now
        let read = try await context.store.readPage(
            of: record.key,
            range,
            limit: window.pageSize,
            by: context.storeDeadline
        )
        guard let read, let app = read.state.app, !read.state.isBlocked(for: .tokens) else {
            seenVersion = read?.state.head.version ?? seenVersion
            ending = .release(after: nil)
            return nil
        }
        seenVersion = read.state.head.version
        guard !read.isTorn else { return nil }
        let step = planned.plan(
            page: read.page,
            head: read.state.head,
            limits: app.limits(for: record.key.cadence),
            now: read.state.now
        )
        switch step {
        case .rest:
            ending = .release(after: nil)
            return nil
        case .wait(let until):
            record.counts.hold(since: read.state.now)
            ending = .release(after: until - read.state.now)
            return nil
        case .send(let plan):
            guard read.state.isStamped else {
                // Which rows are the sweep's is known once there is a stamp: the page is read again.
                if case .wait(let duration) = try await context.stamped(read.state) {
                    ending = .release(after: duration)
                }
                return nil
            }
            guard try await passes(read.state, app: app, plan: plan) else { return nil }
            let composition = PushComposition(
                read.state,
                priority: plan.priority,
                isUrgent: plan.isUrgent,
                carriesAlert: plan.carriesAlert
            )
            guard let composition else { return nil }
            planned = plan.after
            rowsInFlight.begin(nextRead, through: read.page.lastRow, of: range)
            if plan.after.turn == nil { ending = .turnEnds }
            return Page(
                place: nextRead,
                plan: plan,
                state: read.state,
                rows: read.rows,
                quiet: plan.carriesAlert ? read.quiet : 0,
                expired: read.expired,
                passed: read.passed,
                range: read.page.range,
                composition: composition,
                readAt: readAt
            )
        }
    }

    /// Whether a page may be sent as it was read, by what is known of outages.
    ///
    /// - Returns: false: it waits, or is to be read again as a single push.
    private mutating func passes(_ state: MatchState, app: AppState, plan: Sweep.Plan) async throws(StoreError) -> Bool
    {
        guard !isProbing else { return true }
        let route = RouteKey(app: app.key, kind: .tokens)
        self.route = route
        let keyVersion = plan.isUrgent ? state.head.urgentVersion : 0
        switch try await context.outages.gate(route, target: record.key, keyVersion: keyVersion) {
        case .send: return true
        case .probe:
            isProbing = true
            return false
        case .wait(let duration):
            record.backoff = max(1, record.backoff)
            ending = .release(after: duration)
            return false
        }
    }

    // MARK: - Committing

    /// Writes a page's outcomes, in order.
    private mutating func settle(_ sent: SentPage) async throws(StoreError) {
        context.lastAnswers.note(sent.outcomes, of: record.key.answerKey)
        let page = sent.page
        var report = PageReport(
            page.rows,
            sent.outcomes,
            isDowngraded: page.plan.isDowngraded,
            expired: page.expired,
            passed: page.passed,
            now: page.state.now
        )
        let pause = try await noteOutage(sent.outcomes)
        let accepted = zip(page.rows, sent.outcomes).filter { if case .accepted = $0.1 { true } else { false } }
            .map(\.0)
        let quiet = Set(page.rows.suffix(page.quiet).map(\.number))
        // Who has had the alert with this page, though the phone may have taken another token meanwhile.
        let alerted = page.plan.carriesAlert ? accepted.filter { !quiet.contains($0.number) } : []
        if page.plan.carriesAlert {
            let version = page.plan.after.alertVersion
            report.result.alerted = (record.key, version, page.range, alerted.map(\.activity))
        }
        if !page.rows.isEmpty {
            report.counts.firstPushAt = sent.firstPushAt
            report.counts.lastPushAt = sent.lastPushAt
        }
        try await stopIfNeeded(&report, of: page)
        if hasKeptCursor || report.stop != nil || pause != nil || report.verdict == .backOff {
            report.result.kept = (
                passed: KeptRows(version: page.plan.after.taken, rows: accepted.map(\.number)),
                alerted: KeptRows(version: page.plan.after.alertVersion, rows: alerted.map(\.number))
            )
            try await keepCursor(report, of: page, pause: pause)
            return
        }
        report.handOver(
            from: record.key,
            version: page.plan.after.taken,
            isUrgent: page.plan.isUrgent,
            alertVersion: page.plan.carriesAlert ? page.plan.after.alertVersion : 0,
            quiet: quiet
        )
        try await advance(report, past: page)
    }

    /// What the running version came to, if the page takes up a newer one in the middle of its turn.
    private mutating func supersede(by page: Page) -> TurnRecord? {
        guard record.sweep.turn != nil, page.plan.after.taken > record.sweep.taken, record.counts.wanted > 0 else {
            return nil
        }
        var counts = record.counts
        record.counts = TurnCounts()
        if let held = counts.heldAt, held > counts.firstPushAt ?? held {
            // It was the newer one that pacing held.
            counts.heldAt = nil
            record.counts.heldAt = held
        }
        return TurnRecord(
            from: record.sweep.reached + 1,
            to: record.sweep.taken,
            priority: record.sweep.lap?.priority ?? page.plan.priority,
            acceptedAt: takenAcceptedAt ?? page.state.acceptedAt,
            counts: counts
        )
    }

    private mutating func advance(_ report: PageReport, past page: Page) async throws(StoreError) {
        let from = record.sweep.reached + 1
        let superseded = supersede(by: page)
        takenAcceptedAt = page.state.acceptedAt
        record.sweep = page.plan.after
        record.counts += report.counts
        record.backoff = 0
        volatilePushes += report.counts.accepted
        let isHeld: Bool
        if record.sweep.turn == nil {
            let turn = TurnRecord(
                from: from,
                to: record.sweep.reached,
                priority: page.plan.priority,
                acceptedAt: page.state.acceptedAt,
                counts: record.counts
            )
            context.times.note(turn, of: .tokens, isUrgent: page.plan.isUrgent)
            isHeld = try await context.store.finishTurn(
                record,
                report.result,
                turn: turn,
                superseded: superseded,
                gap: page.composition.app.limits(for: record.key.cadence).gap,
                isDurable: true,
                by: context.storeDeadline
            )
        } else {
            isHeld = try await context.store.commitPage(
                record,
                report.result,
                superseded: superseded,
                by: context.storeDeadline
            )
        }
        if !isHeld { ending = .leaseLost }
        if !report.result.handedOver.isEmpty { context.bell.stragglers.signal() }
    }

    /// Writes what APNs said of tokens. The page will be read again, and so will those behind it: who was not accepted is
    /// sent to again, and only then is the page counted.
    private mutating func keepCursor(_ report: PageReport, of page: Page, pause: Duration?) async throws(StoreError) {
        let isFirst = !hasKeptCursor
        hasKeptCursor = true
        record.counts.resent += report.failures.count
        record.counts.removed += report.counts.removed
        record.counts.refused += report.counts.refused
        record.counts.wanted += report.counts.removed + report.counts.refused
        guard try await context.store.commitPage(record, report.result, by: context.storeDeadline) else {
            ending = .leaseLost
            return
        }
        guard isFirst else { return }
        if report.stop != nil {
            ending = .release(after: nil)
        } else {
            record.backoff += 1
            ending = .release(after: pause ?? PageReport.backOff(of: record.key, attempt: record.backoff))
        }
    }

    /// - Returns: How long everything waits for the outage's next probe; nil: there is none.
    private mutating func noteOutage(_ outcomes: [Outcome]) async throws(StoreError) -> Duration? {
        guard let route, !outcomes.isEmpty else { return nil }
        let wasProbe = isProbing
        isProbing = false
        return try await context.outages.note(outcomes, of: route, isWhole: true, isProbe: wasProbe)
    }

    private mutating func stopIfNeeded(_ report: inout PageReport, of page: Page) async throws(StoreError) {
        let app = page.composition.app.key
        if report.stop == nil, context.note(report, of: app) {
            report.stop = PageReport.massRefusal(in: app.environment)
        }
        guard let reason = report.stop else { return }
        context.forgetRefusals(of: app)
        try await context.stop(.tokens, of: app, because: reason)
    }

    private func release() async throws(StoreError) {
        guard case .release(let delay) = ending else { return }
        try await context.store.release(record, after: delay, seen: seenVersion, by: context.storeDeadline)
    }
}
