internal import APNsProtocol
internal import Core
internal import EventLoop
internal import Log
internal import Store

/// The outages that stand, as far as this process knows, and what it has tried in them.
///
/// The rows in PostgreSQL decide: what is kept here only says which routes have to be asked about, so that sending costs no
/// round trip more while APNs works.
final class Outages: Sendable {
    private struct State {
        var standing: Set<RouteKey> = []
        var lastAnswers: [RouteKey: ContinuousClock.Instant] = [:]
        /// Key versions that targets were sent during an outage: each gets a push at once, and then waits as all do.
        var tried: [TargetKey: Int64] = [:]
    }

    /// So many routes and targets are remembered; beyond, the memory starts anew, which costs a push each.
    private static let maxKept = 100_000

    private let store: Store
    private let bell: WorkBell
    private let state = ThreadLock(State())
    private let log: Logger

    init(store: Store, bell: WorkBell, log: Logger) {
        self.store = store
        self.bell = bell
        self.log = log
    }

    private var deadline: ContinuousClock.Instant { .now + .seconds(5) }

    /// Reads which outages stand; other processes begin and end them too.
    func look() async {
        guard let standing = try? await store.outages(by: deadline) else { return }
        state.withLock { $0.standing = standing }
    }

    /// Whether a target may be sent to.
    ///
    /// - Parameters:
    ///   - route: That its pushes take.
    ///   - target: nil: single phones, which have no version of their own to try.
    ///   - keyVersion: The newest key version that the target lacks; 0: none.
    /// - Returns: Whether it may send all, one push, or nothing yet.
    /// - Throws: ``StoreError``.
    func gate(
        _ route: RouteKey,
        target: TargetKey? = nil,
        keyVersion: Int64 = 0
    ) async throws(StoreError) -> OutageRule.Gate {
        guard state.withLock({ $0.standing.contains(route) }) else { return .send }
        let outage = try await store.outage(of: route, by: deadline)
        if outage == nil { state.withLock { _ = $0.standing.remove(route) } }
        let gate = OutageRule.gate(
            nextProbe: outage?.untilProbe,
            isUntriedKey: target.map { hasNotTried($0, keyVersion) } ?? false
        )
        guard gate == .probe else { return gate }
        return try await store.takeProbe(of: route, by: deadline) ? .probe : .wait(OutageRule.pauses[0])
    }

    private func hasNotTried(_ target: TargetKey, _ version: Int64) -> Bool {
        guard version > 0 else { return false }
        return state.withLock { state in
            if let tried = state.tried[target], tried >= version { return false }
            if state.tried.count >= Self.maxKept { state.tried = [:] }
            state.tried[target] = version
            return true
        }
    }

    /// Notes what became of a send.
    ///
    /// - Parameters:
    ///   - outcomes: Of its pushes.
    ///   - route: That they took.
    ///   - isWhole: It was all of a target, not a few of its phones.
    ///   - isProbe: It was an outage's probe.
    /// - Returns: How long what failed waits for the outage's next probe; nil: there is no outage.
    /// - Throws: ``StoreError``.
    func note(
        _ outcomes: [Outcome],
        of route: RouteKey,
        isWhole: Bool,
        isProbe: Bool
    ) async throws(StoreError) -> Duration? {
        let tally = RouteTally(outcomes.lazy.map { Disposition($0) })
        if tally.answered > 0 { return try await answered(route) }
        guard tally.failed > 0 else {
            if isProbe { try await store.giveBackProbe(of: route, by: deadline) }
            return nil
        }
        let (isKnown, sinceAnswer) = state.withLock { state in
            (state.standing.contains(route), state.lastAnswers[route].map { ContinuousClock.now - $0 })
        }
        guard isProbe || isKnown || OutageRule.isOutage(tally, isWhole: isWhole, sinceAnswer: sinceAnswer) else {
            return nil
        }
        let outage = try await store.noteFailure(
            of: route,
            isProbe: isProbe,
            first: tally.isConnectionLoss ? OutageRule.reconnecting : OutageRule.pauses[0],
            by: deadline
        )
        state.withLock { _ = $0.standing.insert(route) }
        if outage.isNew {
            log.outageBegan(of: route.kind, of: route.app, answer: outcomes.lazy.compactMap(\.answer).first ?? "none")
        }
        return max(outage.untilProbe, .milliseconds(50))
    }

    private func answered(_ route: RouteKey) async throws(StoreError) -> Duration? {
        let stood = state.withLock { state in
            if state.lastAnswers.count >= Self.maxKept { state.lastAnswers = [:] }
            state.lastAnswers[route] = .now
            return state.standing.remove(route) != nil
        }
        guard stood, let lasted = try await store.endOutage(of: route, by: deadline) else { return nil }
        state.withLock { $0.tried = [:] }
        log.outageEnded(of: route.kind, of: route.app, after: lasted)
        bell.ring()
        return nil
    }
}
