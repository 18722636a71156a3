package import Core
internal import Crypto
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

/// What became of an event, with what its sender should know.
package struct EventOutcome: Equatable, Sendable {
    package let answer: EventAnswer
    /// `sequence_restarted`, `duplicate_alert`.
    package let warnings: [String]
    /// The newest accepted event when this one came.
    package let newest: EventOrder.Newest
}

/// An event on its way into a match.
package struct IncomingEvent: Sendable {
    package let match: MatchID
    package let event: FeedEvent
    /// SHA-256 of the body: the same id with another one is a conflict.
    package let bodyDigest: [UInt8]
    /// Of its content state, by value; nil: it brings none.
    let stateDigest: [UInt8]?
    /// Of its alert, by value. A correction's is no repetition of a goal's: it brings another one on purpose.
    let alertDigest: [UInt8]?

    package init(match: MatchID, event: FeedEvent, bodyDigest: [UInt8]) {
        self.match = match
        self.event = event
        self.bodyDigest = bodyDigest
        stateDigest = event.contentState.map { Self.digest($0) }
        alertDigest = event.alert.map { Self.digest($0, prefix: event.kind == .correction ? "correction" : "") }
    }

    /// Of the canonical form, as many bytes as tell states of one match apart.
    private static func digest(_ json: RawJSON, prefix: String = "") -> [UInt8] {
        let bytes = Array(json.bytes)
        let canonical = (try? JSONScanner.read(bytes))?.canonical ?? bytes
        return Array(SHA256.hash(Array(prefix.utf8) + canonical).prefix(16))
    }
}

extension Store {
    /// Takes one event into its match, under the lock of the match's row.
    ///
    /// Events that come while others are being committed are committed together, whoever's they are; see ``EventBatches``.
    /// An `end` is held for `endHold`, for late goals to fold in.
    package func accept(
        _ event: FeedEvent,
        bodyDigest: [UInt8],
        match: MatchID,
        tenant: TenantID,
        endHold: Duration = EndHold.hold,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> EventOutcome {
        let incoming = IncomingEvent(match: match, event: event, bodyDigest: bodyDigest)
        let entry = EventBatches.Entry(tenant: tenant, incoming: incoming, endHold: endHold)
        return try await eventBatches.accept(entry) { entries in
            await acceptTogether(entries, by: deadline)
        }
    }

    /// Takes events of any tenants, in one round trip and one transaction. If one of them fails, each by itself.
    private func acceptTogether(
        _ entries: [EventBatches.Entry],
        by deadline: ContinuousClock.Instant
    ) async -> [Result<EventOutcome, StoreError>] {
        // Locks are taken in the order of keys, as bulks take theirs.
        let order = entries.indices.sorted { entries[$0].place.lexicographicallyPrecedes(entries[$1].place) }
        // A match that somebody keeps locked must not hold up the others for long.
        var statements = entries.count > 1 ? [PGStatement("SELECT set_config('lock_timeout', '1s', true)")] : []
        var results: [Int: Int] = [:]
        var tenant: TenantID?
        for index in order {
            let entry = entries[index]
            if tenant != entry.tenant { statements.append(scope(entry.tenant)) }
            tenant = entry.tenant
            results[index] = statements.count
            statements.append(Self.statement(entry.incoming, tenant: entry.tenant, endHold: entry.endHold))
        }
        do throws(StoreError) {
            let all = try await retrying(by: deadline) { () async throws(PGError) in
                try await api.pipeline(statements, by: deadline)
            }
            return entries.indices.map { index in
                .success(results[index].flatMap { all[$0].first }.map { EventOutcome($0) } ?? .matchNotFound)
            }
        } catch {
            guard entries.count > 1, .now < deadline else { return entries.map { _ in .failure(error) } }
            var answers: [Result<EventOutcome, StoreError>] = []
            for entry in entries { answers += await acceptTogether([entry], by: deadline) }
            return answers
        }
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
    ) async throws(StoreError) -> [EventOutcome] {
        let order = events.indices.sorted {
            let (left, right) = (events[$0].match.text.utf8, events[$1].match.text.utf8)
            return left.elementsEqual(right) ? $0 < $1 : left.lexicographicallyPrecedes(right)
        }
        let results = try await self.tenant(
            tenant,
            by: deadline,
            order.map { Self.statement(events[$0], tenant: tenant, endHold: endHold) }
        )
        var answers = events.map { _ in EventOutcome.matchNotFound }
        for (place, result) in zip(order, results) {
            if let row = result.first { answers[place] = EventOutcome(row) }
        }
        return answers
    }

    /// One event's acceptance; its row is an ``EventOutcome``.
    static func statement(_ incoming: IncomingEvent, tenant: TenantID, endHold: Duration) -> PGStatement {
        let event = incoming.event
        return PGStatement(
            """
            SELECT answer, version, warnings, newest_sequence, newest_occurred_at, restarted_at
            FROM touchline_accept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
            """,
            [
                .text(tenant), .text(incoming.match), .text(event.id), .bytes(incoming.bodyDigest),
                .text(event.kind.rawValue), .text(event.importance.rawValue), .int(event.sequence),
                .timestamp(event.occurredAt.map { PGTimestamp(unixMicroseconds: $0.microseconds) }),
                .text(event.contentState?.text), .text(event.alert?.text), .int(event.staleAfter),
                .int(event.dismissAfter), .text(event.relevanceScore), .text(event.apsExtra?.text),
                .seconds(event.alertExpiresAfter.map { .seconds($0) } ?? AlertRule.lifetime), .seconds(endHold),
                .bytes(incoming.stateDigest), .bytes(incoming.alertDigest), .int(EventOrder.restartDrop),
                .int(EventOrder.restartFloor),
            ]
        )
    }
}

extension EventOutcome {
    static let matchNotFound = EventOutcome(answer: .matchNotFound, warnings: [], newest: EventOrder.Newest())

    /// The row of ``Store/statement(_:tenant:endHold:)``.
    init(_ row: PGRow) {
        answer = EventAnswer(row.text(0), version: row.optionalInt(1) ?? 0)
        warnings = row.isNull(2) ? [] : row.textArray(2).compactMap(\.self)
        newest = EventOrder.Newest(
            sequence: row.optionalInt(3),
            occurredAt: row.optionalTime(4),
            restartedAt: row.optionalTime(5)
        )
    }
}

extension EventAnswer {
    fileprivate init(_ answer: String, version: Int64) {
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
