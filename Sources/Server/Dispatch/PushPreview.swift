internal import APNs
internal import APNsProtocol
internal import Core
internal import Store

/// What an event would send to one target, and when: decided and composed by what decides and composes when it is sent.
struct PushPreview {
    /// What becomes of it.
    enum Decision: String {
        case send
        /// Pacing holds it back, or stamps have run ahead of the clock.
        case wait
        /// It goes out when somebody resumes, if nothing newer has come by then.
        case paused
        /// As `paused`; the app's work stopped by itself.
        case stopped
        case channelPending = "channel_pending"
    }

    let target: EventPreview.Target
    let cadence: Cadence
    let decision: Decision
    /// Why it stands still.
    let reason: String?
    /// When it goes out, or would.
    let at: Moment
    /// What the target would pass over or reach.
    let versions: ClosedRange<Int64>
    let isEnd: Bool
    let plan: Sweep.Plan
    let batch: PushBatch

    /// Tokens that it goes to, or the one channel.
    var recipients: Int { target.channel == nil ? target.tokens : 1 }

    /// All pushes of an event, its end's behind the others.
    static func all(_ preview: EventPreview, endHold: Duration = EndHold.hold) -> [PushPreview] {
        let updates = pushes(preview.states, preview.targets, since: nil)
        guard !preview.ends.isEmpty else { return updates }
        // What was sent by then was reached; what a pause holds back was not.
        let targets = preview.targets.map { target in
            guard let sent = updates.first(where: { $0.target.key == target.key }), sent.isSent else { return target }
            return target.reached(sent)
        }
        return updates + pushes(preview.ends, targets, since: (endHold, updates.compactMap(\.stamp).max()))
    }

    private var isSent: Bool { decision == .send || decision == .wait }

    /// The stamp that it would take, if it takes one.
    private var stamp: Int64? { isSent ? stampOfPush : nil }
    private let stampOfPush: Int64

    private static func pushes(
        _ states: [MatchState],
        _ targets: [EventPreview.Target],
        since: (hold: Duration, stamp: Int64?)?
    ) -> [PushPreview] {
        let decided = targets.compactMap { target -> Decided? in
            guard let state = states.first(where: { $0.app?.key.environment == target.key.environment }) else {
                return nil
            }
            return Decided(target, state: state, now: state.now + (since?.hold ?? .zero))
        }
        // A version has one stamp: that of its first claim.
        let first = decided.filter { $0.decision == .send || $0.decision == .wait }.map(\.at).min()
        return decided.compactMap { $0.push(stampedAt: first ?? $0.at, last: since?.stamp) }
    }

    /// A target with its place in time, without what is composed.
    private struct Decided {
        let target: EventPreview.Target
        let state: MatchState
        let plan: Sweep.Plan
        let decision: Decision
        let reason: String?
        let at: Moment

        /// Stands for the id that APNs has not given yet; it is not shown.
        private static let unnamed = ChannelID(validating: "AAAA")

        init?(_ target: EventPreview.Target, state: MatchState, now: Moment) {
            guard let app = state.app, target.channel != nil || target.tokens > 0 else { return nil }
            self.target = target
            self.state = state
            let page = Sweep.Page(
                range: target.sweep.nextRange,
                lastRow: nil,
                isFull: false,
                highestRow: target.highestRow
            )
            let limits = app.limits(for: target.key.cadence)
            var at = now
            var step = target.sweep.plan(page: page, head: state.head, limits: limits, now: at)
            if case .wait(let until) = step {
                at = until
                step = target.sweep.plan(page: page, head: state.head, limits: limits, now: at)
            }
            guard case .send(let plan) = step else { return nil }
            self.plan = plan
            let isUrgent = state.head.urgentVersion > state.stampedVersion
            let answer = StampRule.next(
                after: state.lastStamp,
                stampedAt: state.stampedAt,
                now: at,
                isUrgent: isUrgent
            )
            if case .wait(let until) = answer { at = until }
            self.at = at
            let stopped = target.channel == nil ? app.tokensStopped : app.channelsStopped
            if let stopped {
                (decision, reason) = (.stopped, stopped)
            } else if state.isBlocked(for: target.key.kind) {
                (decision, reason) = (.paused, app.isPaused ? "the app is paused" : "the match or its tenant is paused")
            } else if let channel = target.channel, channel.state != .open || channel.channel == nil {
                (decision, reason) = (.channelPending, channel.lastError)
            } else {
                (decision, reason) = (at > now ? .wait : .send, nil)
            }
        }

        func push(stampedAt: Moment, last: Int64?) -> PushPreview? {
            let isUrgent = state.head.urgentVersion > state.stampedVersion
            let after = max(state.lastStamp, last ?? 0)
            var stamp = max(stampedAt.seconds, after + 1)
            let given = StampRule.next(
                after: after,
                stampedAt: state.stampedAt,
                now: stampedAt,
                isUrgent: isUrgent
            )
            if case .stamp(let next) = given { stamp = next }
            let composition = PushComposition(
                state.foreseen(at: at, stamp: stamp),
                priority: plan.priority,
                isUrgent: plan.isUrgent,
                carriesAlert: plan.carriesAlert
            )
            guard let composition, let app = state.app else { return nil }
            let deadline = ContinuousClock.now
            let channel = target.channel
            let batch =
                if let channel, let id = channel.channel ?? Self.unnamed {
                    composition.batch(id, policy: channel.storagePolicy, deadline: deadline)
                } else {
                    composition.batch([], deadline: deadline)
                }
            let isStandard = target.key.cadence == .frequent && !app.declaresFrequentUpdates
            return PushPreview(
                target: target,
                cadence: isStandard ? .standard : target.key.cadence,
                decision: decision,
                reason: reason,
                at: at,
                versions: min(target.sweep.reached + 1, state.head.version)...state.head.version,
                isEnd: state.head.isEnd,
                plan: plan,
                batch: batch,
                stampOfPush: stamp
            )
        }
    }
}

extension EventPreview.Target {
    /// After this push has gone to all of it.
    fileprivate func reached(_ push: PushPreview) -> EventPreview.Target {
        let after = push.plan.after
        var target = self
        target.sweep = Sweep(
            reached: push.versions.upperBound,
            urgentVersion: after.urgentVersion,
            alertVersion: after.alertVersion,
            pacing: after.pacing
        )
        return target
    }
}
