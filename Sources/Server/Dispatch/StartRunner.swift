internal import APNs
internal import APNsProtocol
internal import Core
internal import Crypto
internal import Store

/// Starts a match's activities on the phones that follow it: page by page, recorded first, then sent, each once.
struct StartRunner {
    let context: DispatchContext
    let pass: StartPass

    private static let lease = Duration.seconds(30)
    private static let lifetime = Duration.seconds(600)
    /// So many are in doubt after a crash without a journal, at most.
    private static let pageSize = 200

    /// How one page's phones are reached afterwards; each way is a payload of its own.
    private enum Way: Hashable {
        case channel(ChannelID)
        case asksForToken
        /// Before iOS 18 there is no other way, and none is named.
        case token
        /// The app reaches nobody by token, and the match has no channel that this phone could listen on.
        case none

        var isChannel: Bool { if case .channel = self { true } else { false } }
    }

    /// Sends until the pass is at its end, or cannot go on.
    func run() async throws(StoreError) {
        guard try await settleLeft() else { return }
        let journal = context.configuration.startJournals.flatMap { StartJournal(lease: pass.lease, in: $0) }
        do throws(StoreError) {
            try await run(journal)
        } catch {
            // What it says is a successor's to read.
            journal?.leave()
            throw error
        }
        journal?.remove()
    }

    /// Writes down what became of the starts that an earlier holder of the claim left, as far as its journal says; without
    /// one all of them may have arrived.
    ///
    /// - Returns: false: the claim is lost.
    private func settleLeft() async throws(StoreError) -> Bool {
        let left = try await context.store.startsLeft(of: pass, by: context.storeDeadline)
        var findings: [String: StartJournal.Findings] = [:]
        if let journals = context.configuration.startJournals {
            for lease in Set(left.map(\.sender) + [pass.abandoned].compactMap(\.self)) {
                findings[lease] = StartJournal.findings(of: lease, in: journals)
            }
        }
        if !left.isEmpty {
            let settled = left.map { ($0, Self.state(of: $0, findings[$0.sender])) }
            guard try await context.store.settleLeftStarts(settled, of: pass, by: context.storeDeadline) else {
                return false
            }
            if settled.contains(where: { $0.1 != .waiting }) {
                try await context.store.resendAfterStarts(of: pass.match, by: context.storeDeadline)
            }
        }
        for found in findings.values { found.remove() }
        return true
    }

    private static func state(of start: LeftStart, _ findings: StartJournal.Findings?) -> StartResult.State {
        guard let findings else { return .unknown }
        return switch findings[start.device] {
        case nil, .notTaken: .waiting
        case .accepted: .accepted
        case .handedOut: .unknown
        }
    }

    private func run(_ journal: StartJournal?) async throws(StoreError) {
        while !context.isDraining {
            guard
                let read = try await context.store.matchState(
                    pass.match,
                    in: pass.environment,
                    by: context.storeDeadline
                ),
                let content = try await context.store.startContent(of: pass, by: context.storeDeadline),
                !read.isBlocked(for: .tokens)
            else { return try await release(after: .seconds(30)) }
            // A phone that can listen on a channel keeps what it is started with: it is worth a moment.
            if content.awaitsChannel || content.lacksChannel, read.app?.channelsStopped == nil {
                if content.lacksChannel {
                    try await context.store.makeChannelsForStart(of: pass, by: context.storeDeadline)
                    context.bell.housekeeping.signal()
                }
                return try await release(after: .milliseconds(250))
            }
            let state: MatchState
            switch try await context.stamped(read) {
            case .stamped(let stamped): state = stamped
            case .overtaken: continue
            case .wait(let duration): return try await release(after: duration)
            }
            guard let app = state.app else { return try await release(after: .seconds(30)) }
            let route = RouteKey(app: app.key, kind: .tokens)
            let gate = try await context.outages.gate(route)
            if case .wait(let duration) = gate { return try await release(after: duration) }
            let page = try await context.store.recordStarts(
                of: pass,
                limit: gate == .probe ? 1 : Self.pageSize,
                lease: Self.lease,
                by: context.storeDeadline
            )
            guard let page else { return try await release(after: .seconds(30)) }
            if let error = await context.configuration.startStep?("recorded") { throw error }
            if !page.starts.isEmpty {
                let outcomes = try await send(page.starts, state: state, content: content, journal)
                journal?.clear()
                _ = try await context.outages.note(outcomes, of: route, isWhole: false, isProbe: gate == .probe)
            } else if gate == .probe {
                try await context.store.giveBackProbe(of: route, by: context.storeDeadline)
            }
            if page.isAtEnd { return try await release(after: nil) }
        }
        try await release(after: .milliseconds(1))
    }

    private func send(
        _ starts: [RecordedStart],
        state: MatchState,
        content: StartContent,
        _ journal: StartJournal?
    ) async throws(StoreError) -> [Outcome] {
        guard let app = state.app else { return [] }
        var ways = Dictionary(grouping: starts) { way(of: $0, app: app, content: content) }
        var results = (ways.removeValue(forKey: .none) ?? []).map { start in
            StartResult(start.device, start.token, .givenUp, reason: "nothing would reach it afterwards")
        }
        let outcomes = await withTaskGroup { group in
            for (way, starts) in ways {
                let batch = batch(starts, way, state: state, app: app, content: content, journal)
                group.addTask { [context] in zip(starts, await context.pool.send(batch)).map { ($0, $1) } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        if let error = await context.configuration.startStep?("sent") { throw error }
        results += outcomes.map { start, outcome in result(of: start, outcome) }
        try await context.store.settleStarts(results, of: pass, by: context.storeDeadline)
        if case .stopApp(let reason)? = outcomes.lazy.map({ Disposition($1) }).first(where: { $0.isStop }) {
            try await context.stop(.tokens, of: app.key, because: reason)
        }
        if ways.keys.contains(where: { $0.isChannel }) {
            try await context.store.resendAfterStarts(of: pass.match, by: context.storeDeadline)
        }
        return outcomes.map(\.1)
    }

    private func way(of start: RecordedStart, app: AppState, content: StartContent) -> Way {
        let asking: Way = content.usesTokens ? .asksForToken : .none
        guard start.supportsChannels else { return content.usesTokens ? .token : .none }
        guard app.channelsStopped == nil else { return asking }
        let wanted = Cadence.of(
            phoneAllowsFrequent: start.allowsFrequentUpdates,
            appDeclaresFrequent: app.declaresFrequentUpdates
        )
        let order: [Cadence] = content.mode == .byCadence ? [wanted, .any] : [.any, wanted]
        let found = order.lazy.compactMap { cadence in content.channels.first { $0.cadence == cadence } }.first
        return found?.channel.map { .channel($0) } ?? asking
    }

    private func batch(
        _ starts: [RecordedStart],
        _ way: Way,
        state: MatchState,
        app: AppState,
        content: StartContent,
        _ journal: StartJournal?
    ) -> PushBatch {
        let updates: PayloadComposer.Updates? =
            switch way {
            case .channel(let id): .channel(id)
            case .asksForToken: .token
            case .token, .none: nil
            }
        // Version 0 has no stamp; every later one's is no less than the clock.
        let stamp = state.head.version == 0 ? max(state.lastStamp, state.now.seconds) : state.lastStamp
        var composer = PayloadComposer(
            event: .start,
            stamp: stamp,
            contentState: RawJSON(text: state.contentState),
            alert: content.alert,
            relevanceScore: state.relevanceScore,
            extra: state.apsExtra.map(RawJSON.init(text:)),
            start: .init(attributesType: content.attributesType, attributes: content.attributes, updates: updates)
        )
        composer.staleDate =
            PushTiming.staleDate(
                acceptedAt: state.acceptedAt,
                staleAfter: state.staleAfter ?? app.staleAfter,
                now: state.now
            ).seconds
        var headers = PushHeaders.device(
            state.bundle,
            priority: 10,
            expiration: (state.now + Self.lifetime).seconds
        )
        headers.collapseID = collapseID
        let seed = SecureRandom.bytes(16)
        return PushBatch(
            lane: LaneKey(environment: app.key.environment, role: .push, credential: CredentialID(app.credential)),
            urgency: .urgent,
            headers: headers,
            payload: composer.compose(),
            recipients: starts.enumerated().map { index, start in
                Recipient(route: .device(start.token), id: APNsID(seed: seed, index: UInt32(index)))
            },
            deadline: .now + context.configuration.pushDeadline,
            isOnce: true,
            witness: journal.map { journal in
                StartWitness(journal: journal, devices: starts.map { StartJournal.hash($0.device) })
            }
        )
    }

    /// The match's own: starts of several matches that wait for one phone do not take each other's place.
    private var collapseID: CollapseID? {
        let text = "\(pass.match.tenant.text)\0\(pass.match.match.text)"
        return CollapseID(validating: "start-" + Hex.encode(SHA256.hash(Array(text.utf8)).prefix(20)))
    }

    private func result(of start: RecordedStart, _ outcome: Outcome) -> StartResult {
        func result(_ state: StartResult.State, _ reason: String? = nil, _ delay: Duration? = nil) -> StartResult {
            StartResult(start.device, start.token, state, reason: reason, delay: delay)
        }
        switch Disposition(outcome) {
        case .accepted: return result(.accepted)
        case .removeToken: return result(.refused, "Unregistered")
        case .setTokenAside(let reason): return result(.refused, reason)
        case .retry(.unknown): return result(.unknown, "no answer")
        case .retry(let failure):
            if start.attempts >= RetryRule.attempts { return result(.givenUp, "APNs asked to come later too often") }
            return result(.waiting, nil, RetryRule.delay(after: failure, attempt: start.attempts, isUrgent: true))
        case .stopApp(let reason): return result(.waiting, reason, .seconds(60))
        case .giveUp(let reason), .checkChannel(let reason): return result(.givenUp, reason)
        }
    }

    private func release(after delay: Duration?) async throws(StoreError) {
        try await context.store.releaseStartPass(
            pass,
            isDone: delay == nil,
            after: delay ?? .zero,
            by: context.storeDeadline
        )
    }
}

extension Disposition {
    fileprivate var isStop: Bool { if case .stopApp = self { true } else { false } }
}
