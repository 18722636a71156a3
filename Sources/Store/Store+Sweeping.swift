package import APNsProtocol
package import Core
internal import PostgreSQL

/// One update token to be sent to.
package struct TokenRow: Sendable {
    package let number: Int64
    package let activity: ActivityID
    package let token: DeviceToken
    /// When the phone last named it.
    package let registeredAt: Moment
}

/// What a sweep reads for one page.
package struct TokenPage: Sendable {
    package let state: MatchState
    /// What the sweep sends to: rows whose registration the version's stamp has seen. All others are stragglers'.
    package let rows: [TokenRow]
    /// How many at the end of `rows` are not sent the alert: they have had it, or registered after its stamp, and have it
    /// from a straggler, if at all.
    package let quiet: Int
    /// Live Activities last eight hours: these are no more.
    package let expired: [TokenRow]
    /// How many more are the sweep's and have the stamped version already: accepted while the cursor had to stay.
    package let passed: Int
    package let page: Sweep.Page
    /// The match got another stamp between the two reads: to be read again.
    package let isTorn: Bool
}

/// Rows of a page that is read again which have something already: the version, or the alert of a version.
package struct KeptRows: Sendable {
    package let version: Int64
    package let rows: [Int64]

    package init(version: Int64, rows: [Int64]) {
        self.version = version
        self.rows = rows
    }
}

/// What a page's outcomes leave to be written.
package struct PageResult: Sendable {
    /// APNs called them dead, as of that moment; nil: now.
    package var dead: [(row: TokenRow, asOf: Moment?)] = []
    package var refused: [(row: TokenRow, reason: String)] = []
    package var handedOver: [HandedOver] = []
    /// Who got the alert of this version with the page, of rows in that range of the target's: nobody else is to bring it.
    package var alerted: (target: TargetKey, version: Int64, range: Sweep.Range, activities: [ActivityID])?
    /// Of a page that is kept, which rows APNs accepted it for: they do not get that version again, nor that alert.
    package var kept: (passed: KeptRows, alerted: KeptRows)?

    package init() {}
}

// A holder's reads and writes.
extension Store {
    /// Reads the match, then the page's rows, then the highest row number, in one round trip.
    ///
    /// In this order, once the match has its stamp: what the stamp has seen of the range is in the page, but for rows that this
    /// leaves to stragglers, see ``leaveToStragglers(_:_:limit:)``.
    /// - Returns: nil if the match is not there.
    package func readPage(
        of target: TargetKey,
        _ range: Sweep.Range,
        limit: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> TokenPage? {
        let shard: [PGValue] =
            target.match.parameters + [
                .text(target.environment.rawValue), .text(target.cadence.rawValue), .int(target.shard),
            ]
        let results = try await pipeline(
            [
                MatchState.statement(target.match, target.environment),
                Self.byIndexOrder,
                Self.leaveToStragglers(shard, range, limit: limit),
                PGStatement(
                    """
                    WITH m AS MATERIALIZED (\(Self.stampSQL))
                    SELECT row_no, activity, token, registered_at, \(Self.isSeen("stamp_snapshot")),
                           \(Self.isSeen("alert_snapshot")), registered_at < now() - interval '8 hours',
                           (SELECT stamped_version FROM m),
                           \(Self.isKept("passed", of: "stamped_version")), \(Self.isKept("alerted", of: "alert_version"))
                    FROM activities a
                    WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND cadence = $4 AND shard = $5
                      AND refused_reason IS NULL AND row_no > $6 AND row_no <= $7
                    ORDER BY row_no LIMIT $8
                    """,
                    shard + [.int(range.after), .int(range.through), .int(limit)]
                ),
                PGStatement(
                    """
                    SELECT row_no FROM activities
                    WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND cadence = $4 AND shard = $5
                      AND refused_reason IS NULL
                    ORDER BY row_no DESC LIMIT 1
                    """,
                    shard
                ),
            ],
            isDurable: false,
            by: deadline
        )
        guard let match = results[0].first else { return nil }
        let state = MatchState(match)
        var isTorn = false
        var (rows, quiet, expired): ([TokenRow], [TokenRow], [TokenRow]) = ([], [], [])
        var passed = 0
        let leftOut = Set(results[2].map { $0.text(0) })
        rows.reserveCapacity(results[3].count)
        var lastRow: Int64?
        for row in results[3] {
            let token = TokenRow(
                number: row.int(0),
                activity: row.wrapped(1),
                token: row.wrapped(2),
                registeredAt: row.moment(3)
            )
            lastRow = token.number
            if row.int(7) != state.stampedVersion { isTorn = true }
            guard row.bool(4), leftOut.isEmpty || !leftOut.contains(token.activity.text) else { continue }
            if row.optionalBool(8) ?? false {
                passed += 1
            } else if row.bool(6) {
                expired.append(token)
            } else if row.bool(5), !(row.optionalBool(9) ?? false) {
                rows.append(token)
            } else {
                quiet.append(token)
            }
        }
        return TokenPage(
            state: state,
            rows: rows + quiet,
            quiet: quiet.count,
            expired: expired,
            passed: passed,
            page: Sweep.Page(
                range: range,
                lastRow: lastRow,
                isFull: results[3].count == limit,
                highestRow: results[4].first?.int(0) ?? 0
            ),
            isTorn: isTorn
        )
    }

    /// Whether a page that was kept has brought a row `column` of `version`: null where none was kept.
    private static func isKept(_ column: String, of version: String) -> String {
        """
        row_no = ANY ((SELECT t.\(column) FROM targets t WHERE t.tenant_id = $1 AND t.match_id = $2 AND t.kind = 'tokens'
            AND t.environment = $3 AND t.cadence = $4 AND t.shard = $5
            AND t.\(column)_version = (SELECT \(version) FROM m))::bigint[])
        """
    }

    /// Without sorting, only the sweep's own index is left, whatever the planner believes of an unread table.
    private static let byIndexOrder = PGStatement("SELECT set_config('enable_sort', 'off', true)")

    /// How many tokens a shard has, as far as `most`.
    package func countTokens(
        of target: TargetKey,
        upTo most: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Int {
        let count = PGStatement(
            """
            SELECT count(*) FROM (
                SELECT FROM activities
                WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND cadence = $4 AND shard = $5
                  AND refused_reason IS NULL
                ORDER BY row_no LIMIT $6) AS counted
            """,
            target.match.parameters + [
                .text(target.environment.rawValue), .text(target.cadence.rawValue), .int(target.shard), .int(most),
            ]
        )
        return Int(try await pipeline([Self.byIndexOrder, count], by: deadline)[1].first?.int(0) ?? 0)
    }

    /// Reads a match and its app in `environment`.
    package func matchState(
        _ key: MatchKey,
        in environment: APNsEnvironment,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> MatchState? {
        let statement = MatchState.statement(key, environment)
        return try await query(statement.sql, statement.parameters, by: deadline).first.map { MatchState($0) }
    }

    /// Gives the newest version its stamp, committed before a byte goes out, and remembers which registrations it has seen:
    /// those phones are the sweeps', all others stragglers'.
    ///
    /// Whatever comes behind an `end`, phones ignore. So whoever waits for a pending alert by itself gets the end with it: its
    /// row is taken over from the sweep. When something goes out again, all that still wait are: targets at rest count as
    /// having it.
    ///
    /// The match is locked before the snapshot is taken, so that it sees what pages have left to stragglers.
    /// - Returns: The match with its stamp; nil if another version or another process came in between.
    package func stamp(
        _ state: MatchState,
        with stamp: Int64,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> MatchState? {
        let stamping = PGStatement(
            """
            WITH stamped AS (
                UPDATE matches
                SET last_stamp = $3, stamped_version = version, stamped_at = clock_timestamp(),
                    stamp_snapshot = pg_current_snapshot(),
                    alert_snapshot = CASE WHEN alert_version > stamped_version THEN pg_current_snapshot()
                        ELSE alert_snapshot END,
                    merged_versions = merged_versions + version - stamped_version - 1
                WHERE tenant_id = $1 AND match_id = $2 AND version = $4 AND stamped_version = $5
                RETURNING version, end_version, resent_version, alert_version, alert, alert_expires_at
            ), waiting AS MATERIALIZED (
                SELECT s.activity FROM stamped m CROSS JOIN LATERAL (
                    SELECT activity FROM stragglers
                    WHERE tenant_id = $1 AND match_id = $2 AND (m.resent_version = m.version
                      OR m.end_version = m.version AND m.alert IS NOT NULL AND alert_version = m.alert_version
                          AND greatest(due_at, clock_timestamp()) < m.alert_expires_at)
                    ORDER BY activity FOR UPDATE) s
            ), taken AS (
                UPDATE activities SET registered_xid = pg_current_xact_id() WHERE ctid = ANY (ARRAY(
                    SELECT a.ctid FROM waiting w
                    CROSS JOIN LATERAL (\(Self.activity("w.activity", isLocked: true))) a))
            )
            SELECT 1 FROM stamped
            """,
            state.key.parameters + [.int(stamp), .int(state.head.version), .int(state.stampedVersion)]
        )
        let result = try await pipeline([lockMatch(state.key), stamping], by: deadline)[1]
        return result.isEmpty ? nil : state.stamped(stamp)
    }

    /// Writes a page's outcomes and the sweep as it stands after it.
    ///
    /// What APNs said of tokens is written in any case; the rest only under the lease. It does not wait for the disk: a
    /// crash of the database may take the cursor back, and the page is sent twice, unless ``flush(by:)`` ran since.
    ///
    /// - Parameters:
    ///   - record: The target as it stands.
    ///   - result: What to do about single tokens.
    ///   - superseded: What the version came to that the page's is taken up instead of; nil: it is the same.
    ///   - deadline: For the round trip.
    /// - Returns: false: the lease is lost.
    /// - Throws: ``StoreError``.
    package func commitPage(
        _ record: TargetRecord,
        _ result: PageResult,
        superseded: TurnRecord? = nil,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        let kept = [("passed", result.kept?.passed), ("alerted", result.kept?.alerted)].filter {
            $0.1?.rows.isEmpty == false
        }
        var (assignments, values) = ("backoff = 0", [PGValue]())
        for case (let column, let kept?) in kept {
            let place = Self.afterSweep + values.count
            assignments += """
                , \(column)_version = $\(place)::bigint, \(column) = $\(place + 1)::bigint[]
                    || CASE WHEN \(column)_version = $\(place)::bigint THEN \(column) ELSE '{}' END
                """
            values += [.int(kept.version), .int8Array(kept.rows)]
        }
        let page = update(record, set: assignments, values)
        let statements =
            [page] + outcomeStatements(result, of: record.key.match, epoch: record.epoch)
            + (superseded.map { [$0.statement(of: record.key, epoch: record.epoch, isSuperseded: true)] } ?? [])
        return try await pipeline(statements, isDurable: false, by: deadline)[0].affectedRows == 1
    }

    /// Waits until the disk has all that was committed before, whoever committed it.
    package func flush(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        // A transaction that wrote something: its commit waits for the log up to itself.
        _ = try await query("SELECT pg_logical_emit_message(true, 'touchline', '')", by: deadline)
    }

    /// Ends a turn: the target has reached `record.sweep.reached`.
    ///
    /// The match's row is locked, so that an event either sees the target at rest and marks it due, or is seen here.
    ///
    /// - Parameters:
    ///   - record: The target as it stands.
    ///   - result: What to do about single tokens.
    ///   - turn: What the version came to that the target has reached.
    ///   - superseded: See ``commitPage(_:_:superseded:by:)``.
    ///   - gap: Between routine updates: one that is accepted within it makes the target due when it is over.
    ///   - isDurable: Waits for the disk: else a crash of the database may take the turn's end back, and what it covered is
    ///     sent twice.
    ///   - deadline: For the round trip.
    /// - Returns: false: the lease is lost.
    /// - Throws: ``StoreError``.
    package func finishTurn(
        _ record: TargetRecord,
        _ result: PageResult,
        turn: TurnRecord,
        superseded: TurnRecord? = nil,
        gap: Duration = .zero,
        isDurable: Bool,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        var rested = record
        rested.counts = TurnCounts()
        let statements =
            [
                lockMatch(record.key.match),
                update(
                    rested,
                    set: """
                        lease_until = NULL, backoff = 0, passed = '{}', alerted = '{}',
                        routine_gap = $\(Self.afterSweep)::integer, \(Self.staysUrgent),
                        due_at = CASE WHEN (SELECT m.version FROM matches m
                            WHERE m.tenant_id = $1 AND m.match_id = $2) > $8 THEN clock_timestamp() END
                        """,
                    [.int(gap.wholeMilliseconds)]
                ),
            ] + (superseded.map { [$0.statement(of: record.key, epoch: record.epoch, isSuperseded: true)] } ?? [])
            + [turn.statement(of: record.key, epoch: record.epoch)]
            // A channel's push is one: nothing is taken up in the middle of it.
            + (record.key.kind == .tokens ? [turn.mergeStatement(of: record.key)] : [])
            + outcomeStatements(result, of: record.key.match, epoch: record.epoch)
        return try await pipeline(statements, isDurable: isDurable, by: deadline)[1].affectedRows == 1
    }

    /// Gives a target back before it has reached the match's version.
    ///
    /// - Parameters:
    ///   - record: The target as it stands.
    ///   - delay: How long it waits; nil: it leaves the due set until something marks it again.
    ///   - seen: The match's version that this was decided by. If there is a newer one, the target is due at once.
    ///   - deadline: For the round trip.
    /// - Returns: false: the lease was lost already.
    /// - Throws: ``StoreError``.
    @discardableResult
    package func release(
        _ record: TargetRecord,
        after delay: Duration?,
        seen: Int64,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        let statements = [
            lockMatch(record.key.match),
            update(
                record,
                set: """
                    lease_until = NULL, backoff = $\(Self.afterSweep), \(Self.staysUrgent), due_at = CASE WHEN (SELECT m.version FROM matches m
                        WHERE m.tenant_id = $1 AND m.match_id = $2) > $\(Self.afterSweep + 1)::bigint THEN clock_timestamp()
                        ELSE clock_timestamp() + make_interval(secs => $\(Self.afterSweep + 2)) END
                    """,
                [.int(record.backoff), .int(seen), delay.map { .seconds($0) } ?? .null]
            ),
        ]
        return try await pipeline(statements, isDurable: false, by: deadline)[1].affectedRows == 1
    }

    private func pipeline(
        _ statements: [PGStatement],
        isDurable: Bool,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [PGResult] {
        try await pipeline(statements + (isDurable ? [] : [Self.unhurried]), by: deadline)
    }

    /// `$10` is the newest key version that was taken up.
    private static let staysUrgent = """
        urgent = (SELECT m.urgent_version FROM matches m WHERE m.tenant_id = $1 AND m.match_id = $2) > $10
        """

    private func lockMatch(_ key: MatchKey) -> PGStatement {
        PGStatement("SELECT 1 FROM matches WHERE tenant_id = $1 AND match_id = $2 FOR UPDATE", key.parameters)
    }

    /// The first parameter behind the sweep's and the counts'.
    private static let afterSweep = 24 + TurnCounts.columnCount

    /// Sets the sweep, the counts and `assignments`, under the lease. `$8` is the version reached; `more` begins at
    /// ``afterSweep``.
    private func update(_ record: TargetRecord, set assignments: String, _ more: [PGValue]) -> PGStatement {
        let columns = "\(Sweep.columns), \(TurnCounts.columns)"
        let places = (8..<Self.afterSweep).map { "$\($0)" }.joined(separator: ", ")
        return PGStatement(
            """
            UPDATE targets SET (\(columns)) = (\(places)), \(assignments)
            WHERE tenant_id = $1 AND match_id = $2 AND kind = $3 AND environment = $4 AND cadence = $5 AND shard = $6
              AND lease_epoch = $7 AND lease_until IS NOT NULL
            """,
            record.key.parameters + [.int(record.epoch)] + record.sweep.parameters + record.counts.parameters + more
        )
    }
}
