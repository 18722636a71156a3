package import APNsProtocol
package import Core
internal import PostgreSQL

/// What an event is checked against before it is accepted.
package struct EventContext: Sendable {
    package let match: MatchID
    /// The contract of its type, as it came; nil: the type has none.
    package let contract: RawJSON?
    package let sizes: PayloadSizes
    /// `app_paused` and the like, for the answer.
    package let warnings: [String]
}

/// An event as it is listed.
package struct EventRecord: Sendable {
    package let id: EventID
    package let kind: EventKind
    package let importance: Importance
    package let status: String
    package let version: Int64
    package let sequence: Int64?
    package let occurredAt: Timestamp?
    package let receivedAt: Timestamp
    /// What its answer warned of.
    package let warnings: [String]
}

extension Store {
    /// The contexts of matches, as many as there are. In one round trip, for any number.
    package func eventContexts(
        of matches: [MatchID],
        tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [MatchID: EventContext] {
        let rows = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT m.match_id, y.content_state, coalesce(octet_length(m.attributes), 0), \(Self.routesSQL),
                   m.paused_at IS NOT NULL, a.paused, t.paused_at IS NOT NULL, a.tokens_stopped, a.channels_stopped,
                   m.last_stamp, clock_timestamp()
            FROM matches m
            LEFT JOIN tenants t ON t.tenant_id = m.tenant_id
            LEFT JOIN activity_types y ON y.tenant_id = m.tenant_id AND y.bundle = m.bundle
                AND y.attributes_type = m.attributes_type
            CROSS JOIN LATERAL \(Self.appsSQL) AS a
            WHERE m.tenant_id = $1 AND m.match_id = ANY ($2::text[]) AND m.deleted_at IS NULL
            """,
            [.text(tenant), .textArray(matches.map(\.text))]
        )
        var contexts: [MatchID: EventContext] = [:]
        for row in rows {
            let context = EventContext(row)
            contexts[context.match] = context
        }
        return contexts
    }

    /// What a match of this bundle and type is checked against: the type, if there is one, and the routes of its apps.
    package func matchContext(
        bundle: BundleID,
        type: AttributesType,
        tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (type: TypeRecord?, routes: PayloadSizes.Routes) {
        let row = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT \(Self.routesSQL), y.content_state, y.attributes
            FROM (SELECT $1::text AS tenant_id, $2::text AS bundle) AS m
            CROSS JOIN LATERAL \(Self.appsSQL) AS a
            LEFT JOIN activity_types y ON y.tenant_id = m.tenant_id AND y.bundle = m.bundle AND y.attributes_type = $3
            """,
            [.text(tenant), .text(bundle), .text(type)]
        )[0]
        let record = row.optionalJSON(2).map {
            TypeRecord(bundle: bundle, type: type, contentState: $0, attributes: row.optionalJSON(3))
        }
        return (record, PayloadSizes.Routes(row, from: 0))
    }

    /// Over the apps of `m`, as `a`.
    private static let appsSQL = """
        (SELECT coalesce(bool_or(tokens), false) AS tokens, coalesce(bool_or(channels <> 'none'), false) AS channels,
                coalesce(bool_or(paused_at IS NOT NULL), false) AS paused,
                coalesce(bool_or(tokens_stopped IS NOT NULL), false) AS tokens_stopped,
                coalesce(bool_or(channels_stopped IS NOT NULL), false) AS channels_stopped
         FROM apps WHERE tenant_id = m.tenant_id AND bundle = m.bundle)
        """

    private static let routesSQL = "a.tokens, a.channels"

    /// What came in for a match, oldest first.
    package func events(
        of match: MatchKey,
        after: (receivedAt: Timestamp, id: String)?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Page<EventRecord> {
        let rows = try await tenant(
            match.tenant,
            by: deadline,
            """
            SELECT event_id, kind, importance, status, version, sequence, occurred_at, received_at, warnings FROM events
            WHERE tenant_id = $1 AND match_id = $2
              AND ($3::timestamptz IS NULL OR (received_at, event_id) > ($3, $4::text))
            ORDER BY received_at, event_id LIMIT $5
            """,
            match.parameters + [.time(after?.receivedAt), .text(after?.id), .int(limit + 1)]
        ).map(EventRecord.init)
        return Page(rows, limit: limit)
    }
}

extension EventContext {
    fileprivate init(_ row: PGRow) {
        match = row.wrapped(0)
        contract = row.optionalJSON(1)
        sizes = PayloadSizes(routes: PayloadSizes.Routes(row, from: 3), attributesBytes: Int(row.int(2)))
        let pauses = [
            (5, "match_paused"), (6, "app_paused"), (7, "tenant_paused"), (8, "tokens_stopped"),
            (9, "channels_stopped"),
        ]
        let isClockWrong = StampRule.isClockWrong(last: row.int(10), now: row.moment(11))
        warnings = pauses.filter { row.bool($0.0) }.map(\.1) + (isClockWrong ? ["clock_ahead"] : [])
    }
}

extension PayloadSizes.Routes {
    /// The columns `tokens, channels` from `column` on.
    fileprivate init(_ row: PGRow, from column: Int) {
        self = []
        if row.bool(column) { insert(.tokens) }
        if row.bool(column + 1) { insert(.broadcast) }
    }
}

extension EventRecord {
    fileprivate init(_ row: PGRow) {
        id = row.wrapped(0)
        kind = row.value(1)
        importance = row.value(2)
        status = row.text(3)
        version = row.int(4)
        sequence = row.optionalInt(5)
        occurredAt = row.optionalTime(6)
        receivedAt = row.time(7)
        warnings = row.isNull(8) ? [] : row.textArray(8).compactMap(\.self)
    }
}
