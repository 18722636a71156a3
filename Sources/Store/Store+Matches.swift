package import APNsProtocol
package import Core
internal import PostgreSQL

extension Store {
    /// Creates a match, changes it, or brings a deleted one back; plans its channels in the same transaction.
    ///
    /// A match that comes back keeps counting versions: phones remember the stamps of those that they saw.
    package func putMatch(
        _ draft: MatchDraft,
        _ key: MatchKey,
        now: Timestamp? = nil,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> MatchPutAnswer {
        try await tenantTransaction(key.tenant, by: deadline) { connection in
            let transaction = MatchPut(
                key: key,
                draft: draft,
                now: now,
                connection: connection,
                deadline: deadline
            )
            return try await transaction.run()
        }
    }

    package func match(_ key: MatchKey, by deadline: ContinuousClock.Instant) async throws(StoreError) -> MatchRecord? {
        try await tenant(
            key.tenant,
            by: deadline,
            """
            SELECT \(MatchRecord.columns) FROM matches m
            WHERE m.tenant_id = $1 AND m.match_id = $2 AND m.deleted_at IS NULL
            """,
            key.parameters
        ).first.map(MatchRecord.init)
    }

    /// A tenant's matches by id, of one bundle and status if those are given.
    package func matches(
        of tenant: TenantID,
        bundle: BundleID?,
        status: MatchStatus?,
        after: String?,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Page<MatchRecord> {
        let rows = try await self.tenant(
            tenant,
            by: deadline,
            """
            SELECT \(MatchRecord.columns) FROM matches m
            WHERE m.tenant_id = $1 AND m.deleted_at IS NULL AND ($2::text IS NULL OR m.bundle = $2)
              AND ($3::text IS NULL OR m.status = $3) AND ($4::text IS NULL OR m.match_id > $4)
            ORDER BY m.match_id LIMIT $5
            """,
            [.text(tenant), .text(bundle?.text), .text(status?.rawValue), .text(after), .int(limit + 1)]
        ).map(MatchRecord.init)
        return Page(rows, limit: limit)
    }

    /// Leaves a tombstone, which the housekeeper ends as a match that is over.
    ///
    /// - Returns: false: there is no such match.
    package func deleteMatch(_ key: MatchKey, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool {
        try await tenant(
            key.tenant,
            by: deadline,
            """
            UPDATE matches SET deleted_at = now(), housekeep_at = now(), updated_at = now()
            WHERE tenant_id = $1 AND match_id = $2 AND deleted_at IS NULL
            """,
            key.parameters
        ).affectedRows == 1
    }

    /// Forgets sequence and time of a match's newest event, for a feed that counts anew; nil if there is no such match.
    package func resetOrder(
        of key: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> MatchRecord? {
        try await tenant(
            key.tenant,
            by: deadline,
            """
            UPDATE matches AS m SET last_sequence = NULL, last_occurred_at = NULL, sequence_since = NULL, updated_at = now()
            WHERE m.tenant_id = $1 AND m.match_id = $2 AND m.deleted_at IS NULL RETURNING \(MatchRecord.columns)
            """,
            key.parameters
        ).first.map(MatchRecord.init)
    }

    /// Pauses or resumes a match; nil if there is none.
    package func pauseMatch(
        _ key: MatchKey,
        _ isPaused: Bool,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> MatchRecord? {
        try await tenant(
            key.tenant,
            by: deadline,
            """
            WITH woken AS (
                \(Self.resumeStarts) AND NOT $3 AND (tenant_id, match_id) = ($1, $2)
            )
            UPDATE matches AS m SET paused_at = CASE WHEN $3 THEN coalesce(m.paused_at, now()) END, updated_at = now()
            WHERE m.tenant_id = $1 AND m.match_id = $2 AND m.deleted_at IS NULL RETURNING \(MatchRecord.columns)
            """,
            key.parameters + [.bool(isPaused)]
        ).first.map(MatchRecord.init)
    }
}

/// The transaction of one put.
private struct MatchPut {
    let key: MatchKey
    let draft: MatchDraft
    /// By which a kick-off is long past; nil: the database's clock.
    let now: Timestamp?
    let connection: PGConnection
    let deadline: ContinuousClock.Instant

    func run() async throws -> MatchPutAnswer {
        let hasApp = try await query(
            "SELECT EXISTS (SELECT FROM apps WHERE tenant_id = $1 AND bundle = $2)",
            [.text(key.tenant), .text(draft.bundle)]
        )[0].bool(0)
        guard hasApp else { return .noApp }
        let answer = try await write()
        switch answer {
        case .created, .updated:
            let channels = Store.planChannels(tenant: key.tenant, match: key.match, now: now)
            let starts = Store.planStarts(tenant: key.tenant, match: key.match)
            for plan in [channels, starts] { _ = try await query(plan.sql, plan.parameters) }
        case .noApp, .contentStateMissing, .fixed, .statusConflict, .endHeld: break
        }
        return answer
    }

    private func write() async throws -> MatchPutAnswer {
        if draft.contentState != nil, let created = try await query(Self.insertSQL, parameters).first {
            return .created(MatchRecord(created))
        }
        let found = try await query(
            """
            SELECT \(MatchRecord.columns), m.deleted_at IS NOT NULL, m.end_due_at IS NOT NULL FROM matches m
            WHERE m.tenant_id = $1 AND m.match_id = $2 FOR UPDATE
            """,
            key.parameters
        ).first
        guard let found else { return .contentStateMissing }
        let old = MatchRecord(found)
        let isDeleted = found.bool(MatchRecord.columnCount)
        if isDeleted {
            guard draft.contentState != nil else { return .contentStateMissing }
            return .created(try await revive())
        }
        if draft.isRenewed {
            if old.hasEnded {
                guard draft.contentState != nil else { return .contentStateMissing }
                return .updated(try await revive())
            }
            guard !found.bool(MatchRecord.columnCount + 1) else { return .endHeld }
        }
        if old.version > 0 {
            guard old.bundle == draft.bundle else { return .fixed(field: "bundle") }
            guard old.type == draft.type else { return .fixed(field: "type") }
        }
        if let status = draft.status, status != old.status {
            let isCalledOff = old.status == .postponed || old.status == .abandoned
            // Played after all: what it ended on the phones stays so, and its versions go on.
            if old.hasEnded, isCalledOff, status == .scheduled { return .updated(try await revive()) }
            let isLate = (old.hasEnded && !isCalledOff) || (old.status == .live && status == .scheduled)
            guard !isLate else { return .statusConflict(old.status) }
        }
        return .updated(MatchRecord(try await query(Self.updateSQL, parameters)[0]))
    }

    private func revive() async throws -> MatchRecord {
        // Its feed starts afresh: an old event's id must not answer for a new event.
        _ = try await query("DELETE FROM events WHERE tenant_id = $1 AND match_id = $2", key.parameters)
        // And it is started on its followers' phones once more.
        _ = try await query("DELETE FROM starts WHERE tenant_id = $1 AND match_id = $2", key.parameters)
        _ = try await query("DELETE FROM start_passes WHERE tenant_id = $1 AND match_id = $2", key.parameters)
        return MatchRecord(try await query(Self.reviveSQL, parameters)[0])
    }

    private func query(_ sql: String, _ parameters: [PGValue]) async throws(PGError) -> PGResult {
        try await connection.query(sql, parameters, by: deadline)
    }

    private var parameters: [PGValue] {
        key.parameters + [
            .text(draft.bundle), .text(draft.type), .time(draft.kickoffAt), .textArray(draft.topics),
            .json(draft.attributes), .json(draft.startAlert), .json(draft.contentState), .text(draft.status?.rawValue),
            .int(draft.startLead), .int(draft.endsAfterSilence),
        ]
    }

    /// When the housekeeper first looks at a match that nobody ended: it knows from then on when silence ends it.
    private static let housekeepAt = """
        CASE WHEN $10::text IN ('postponed', 'abandoned') THEN now() ELSE greatest($5::timestamptz, now()) END
        """

    private static let insertSQL = """
        INSERT INTO matches AS m (tenant_id, match_id, bundle, attributes_type, kickoff_at, topics, attributes,
                                  start_alert, content_state, status, housekeep_at, start_lead, ends_after_silence)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10, 'scheduled'), \(housekeepAt), $11, $12)
        ON CONFLICT (tenant_id, match_id) DO NOTHING RETURNING \(MatchRecord.columns)
        """

    /// The first content state may be corrected until the first event.
    private static let updateSQL = """
        UPDATE matches AS m SET bundle = $3, attributes_type = $4, kickoff_at = $5, topics = $6, attributes = $7,
            start_alert = $8, start_lead = $11, ends_after_silence = $12,
            content_state = CASE WHEN m.version = 0 THEN coalesce($9, m.content_state) ELSE m.content_state END,
            status = coalesce($10, m.status), updated_at = now(),
            housekeep_at = CASE WHEN $10::text IN ('postponed', 'abandoned')
                                     OR (m.end_version IS NULL AND m.end_due_at IS NULL
                                         AND (m.kickoff_at <> $5 OR m.ends_after_silence IS DISTINCT FROM $12))
                                THEN least(\(housekeepAt), m.resend_at)
                                WHEN m.status = 'postponed' AND m.kickoff_at <> $5 THEN now()
                                ELSE m.housekeep_at END
        WHERE m.tenant_id = $1 AND m.match_id = $2 RETURNING \(MatchRecord.columns)
        """

    /// A version of its own, since the state is another one: a stamp belongs to one state.
    private static let reviveSQL = """
        UPDATE matches AS m SET bundle = $3, attributes_type = $4, kickoff_at = $5, topics = $6, attributes = $7,
            start_alert = $8, start_lead = $11, ends_after_silence = $12, content_state = coalesce($9, m.content_state),
            status = coalesce($10, 'scheduled'), updated_at = now(), housekeep_at = \(housekeepAt), deleted_at = NULL,
            paused_at = NULL, version = m.version + 1, accepted_at = now(), stale_after = NULL, relevance_score = NULL, aps_extra = NULL, alert = NULL,
            alert_expires_at = NULL, state_digest = NULL, alert_digest = NULL, last_sequence = NULL,
            last_occurred_at = NULL, sequence_since = NULL, end_requested_at = NULL,
            end_due_at = NULL, end_version = NULL, dismiss_after = NULL, resend_at = NULL, end_resends = 0
        WHERE m.tenant_id = $1 AND m.match_id = $2 RETURNING \(MatchRecord.columns)
        """
}
