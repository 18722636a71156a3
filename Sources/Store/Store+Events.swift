package import Core
internal import PostgreSQL

/// What became of an event.
package enum EventAnswer: Equatable, Sendable {
    /// Committed; it survives any crash from here on.
    case accepted(version: Int64, replayed: Bool)
    /// The same id came with another body.
    case conflict
    /// It happened before the newest accepted one: kept, not sent. The version is the match's then.
    case superseded(version: Int64, replayed: Bool)
    /// It came after the end.
    case ignored(version: Int64, replayed: Bool)
    case matchNotFound
}

/// An event on its way into a match.
package struct IncomingEvent: Sendable {
    package let match: MatchID
    package let event: FeedEvent
    /// SHA-256 of the body: the same id with another one is a conflict.
    package let bodyDigest: [UInt8]

    package init(match: MatchID, event: FeedEvent, bodyDigest: [UInt8]) {
        self.match = match
        self.event = event
        self.bodyDigest = bodyDigest
    }
}

extension Store {
    /// Takes one event into its match, in one transaction under the lock of the match's row.
    ///
    /// An `end` is held for `endHold`, for late goals to fold in.
    package func accept(
        _ event: FeedEvent,
        bodyDigest: [UInt8],
        match: MatchID,
        tenant: TenantID,
        endHold: Duration = EndHold.hold,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> EventAnswer {
        let incoming = IncomingEvent(match: match, event: event, bodyDigest: bodyDigest)
        return try await accept([incoming], tenant: tenant, endHold: endHold, by: deadline)[0]
    }

    /// Takes many events, in one round trip and one transaction: all of them are committed, or none.
    ///
    /// Within a match they are taken in the order given; matches are locked in the order of their ids, so that bulks
    /// do not wait for each other in a circle.
    /// - Returns: An answer for each, in the order given.
    package func accept(
        _ events: [IncomingEvent],
        tenant: TenantID,
        endHold: Duration = EndHold.hold,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [EventAnswer] {
        let order = events.indices.sorted {
            let (left, right) = (events[$0].match.text.utf8, events[$1].match.text.utf8)
            return left.elementsEqual(right) ? $0 < $1 : left.lexicographicallyPrecedes(right)
        }
        let results = try await self.tenant(
            tenant,
            by: deadline,
            order.map { Self.statement(events[$0], tenant: tenant, endHold: endHold) }
        )
        var answers = events.map { _ in EventAnswer.matchNotFound }
        for (place, result) in zip(order, results) {
            if let row = result.first { answers[place] = EventAnswer(row) }
        }
        return answers
    }

    private static func statement(_ incoming: IncomingEvent, tenant: TenantID, endHold: Duration) -> PGStatement {
        let event = incoming.event
        return PGStatement(
            """
            SELECT answer, version FROM touchline_accept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
                                                         $15, $16)
            """,
            [
                .text(tenant), .text(incoming.match), .text(event.id), .bytes(incoming.bodyDigest),
                .text(event.kind.rawValue), .text(event.importance.rawValue), .int(event.sequence),
                .timestamp(event.occurredAt.map { PGTimestamp(unixMicroseconds: $0.microseconds) }),
                .text(event.contentState?.text), .text(event.alert?.text), .int(event.staleAfter),
                .int(event.dismissAfter), .text(event.relevanceScore), .text(event.apsExtra?.text),
                .seconds(event.alertExpiresAfter.map { .seconds($0) } ?? AlertRule.lifetime), .seconds(endHold),
            ]
        )
    }
}

extension EventAnswer {
    fileprivate init(_ row: PGRow) {
        let answer = row.text(0)
        let version = row.optionalInt(1) ?? 0
        let replayed = answer.hasSuffix("_replayed")
        switch answer {
        case "accepted", "accepted_replayed": self = .accepted(version: version, replayed: replayed)
        case "superseded", "superseded_replayed": self = .superseded(version: version, replayed: replayed)
        case "ignored", "ignored_replayed": self = .ignored(version: version, replayed: replayed)
        case "conflict": self = .conflict
        case "not_found": self = .matchNotFound
        default: preconditionFailure("touchline_accept answered \(answer)")
        }
    }
}
