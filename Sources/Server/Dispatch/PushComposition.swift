internal import APNs
internal import APNsProtocol
internal import Core
internal import Crypto
internal import Store

/// Turns a match's state into headers and payload, the same for a whole page.
struct PushComposition {
    let state: MatchState
    let app: AppState
    let priority: Int
    let isUrgent: Bool
    private(set) var carriesAlert: Bool

    /// - Returns: nil if the match's app does not exist.
    init?(_ state: MatchState, priority: Int, isUrgent: Bool, carriesAlert: Bool) {
        guard let app = state.app else { return nil }
        self.state = state
        self.app = app
        self.priority = priority
        self.isUrgent = isUrgent
        self.carriesAlert = carriesAlert
    }

    /// The same for phones that have the alert from elsewhere, or need none.
    var withoutAlert: PushComposition {
        var copy = self
        copy.carriesAlert = false
        return copy
    }

    /// A push to tokens, one for each row. `subject` tells pushes of the same version to the same row apart that are not
    /// each other's resend.
    func batch(
        _ rows: [TokenRow],
        as subject: String = "tokens",
        deadline: ContinuousClock.Instant
    ) -> PushBatch {
        let seed = seed(of: subject)
        let expiration = PushTiming.tokenExpiration(isEnd: isEnd, staleDate: staleDate, now: state.now)
        return PushBatch(
            lane: lane(.push),
            urgency: urgency,
            headers: .device(state.bundle, priority: priority, expiration: expiration),
            payload: payload(),
            recipients: rows.map { row in
                // A row keeps its id for a version: a resend carries the same one.
                Recipient(
                    route: .device(row.token),
                    id: APNsID(seed: seed, index: UInt32(truncatingIfNeeded: row.number))
                )
            },
            deadline: deadline
        )
    }

    /// A push to a channel.
    func batch(_ channel: ChannelID, policy: StoragePolicy, deadline: ContinuousClock.Instant) -> PushBatch {
        let expiration = PushTiming.channelExpiration(
            storagePolicy: policy.rawValue,
            isEnd: isEnd,
            staleDate: staleDate,
            now: state.now
        )
        return PushBatch(
            lane: lane(.broadcast),
            urgency: .urgent,
            headers: .broadcast(priority: priority, expiration: expiration),
            payload: payload(),
            recipients: [
                Recipient(
                    route: .broadcast(state.bundle, channel),
                    id: APNsID(seed: seed(of: channel.text), index: 0)
                )
            ],
            deadline: deadline
        )
    }

    private var isEnd: Bool { state.head.isEnd }

    private var urgency: PushUrgency { isUrgent ? .urgent : .routine }

    private var staleDate: Moment {
        PushTiming.staleDate(
            acceptedAt: state.acceptedAt,
            staleAfter: state.staleAfter ?? app.staleAfter,
            now: state.now
        )
    }

    private func lane(_ role: LaneRole) -> LaneKey {
        LaneKey(environment: app.key.environment, role: role, credential: CredentialID(app.credential))
    }

    private func payload() -> [UInt8] {
        var composer = PayloadComposer(
            event: isEnd ? .end : .update,
            stamp: state.lastStamp,
            contentState: RawJSON(text: state.contentState),
            alert: carriesAlert ? state.alert.map(RawJSON.init(text:)) : nil,
            relevanceScore: state.relevanceScore,
            extra: state.apsExtra.map(RawJSON.init(text:))
        )
        if isEnd {
            composer.dismissalDate = state.dismissAfter.map { (state.endRequestedAt ?? state.now) + $0 }?.seconds
        } else {
            composer.staleDate = staleDate.seconds
        }
        return composer.compose()
    }

    /// Unique for the match, its version and `subject`.
    private func seed(of subject: String) -> [UInt8] {
        let parts = [
            state.key.tenant.text, state.key.match.text, String(state.head.version), app.key.environment.rawValue,
            subject,
        ]
        return Array(SHA256.hash(Array(parts.joined(separator: "\0").utf8)).prefix(16))
    }
}
