/// What a feed posts: the match's new content state, and how important it is.
package struct FeedEvent: Equatable, Sendable {
    package var id: EventID
    package var kind: EventKind
    package var importance: Importance
    /// The feed's own count, which orders events before any time does.
    package var sequence: Int64?
    package var occurredAt: Timestamp?
    /// Byte for byte as it came; `nil` on a heartbeat, and on an end that adds nothing.
    package var contentState: RawJSON?
    /// `aps.alert` as Apple wants it.
    package var alert: RawJSON?
    /// How long the alert may wait for its push, seconds.
    package var alertExpiresAfter: Int64?
    package var staleAfter: Int64?
    package var dismissAfter: Int64?
    /// The digits as they came.
    package var relevanceScore: String?
    /// Further members of `aps`, an object.
    package var apsExtra: RawJSON?

    package init(
        id: EventID,
        kind: EventKind = .update,
        importance: Importance = .routine,
        sequence: Int64? = nil,
        occurredAt: Timestamp? = nil,
        contentState: RawJSON? = nil,
        alert: RawJSON? = nil,
        alertExpiresAfter: Int64? = nil,
        staleAfter: Int64? = nil,
        dismissAfter: Int64? = nil,
        relevanceScore: String? = nil,
        apsExtra: RawJSON? = nil
    ) {
        self.id = id
        self.kind = kind
        self.importance = importance
        self.sequence = sequence
        self.occurredAt = occurredAt
        self.contentState = contentState
        self.alert = alert
        self.alertExpiresAfter = alertExpiresAfter
        self.staleAfter = staleAfter
        self.dismissAfter = dismissAfter
        self.relevanceScore = relevanceScore
        self.apsExtra = apsExtra
    }
}

package enum EventKind: String, CaseIterable, Sendable {
    case update
    /// A goal taken back: cancels pending alerts, brings its own or none.
    case correction
    /// No new state: moves the stale date.
    case heartbeat
    case end
}

package enum Importance: String, CaseIterable, Sendable {
    /// The clock, a corner.
    case routine
    /// A goal, a red card, full time.
    case key
}
