internal import APNsProtocol
package import Core
internal import PostgreSQL

/// An app's pushes to channels, or to tokens, in one environment.
package struct RouteKey: Hashable, Sendable {
    package let app: AppKey
    package let kind: TargetKind

    package init(app: AppKey, kind: TargetKind) {
        self.app = app
        self.kind = kind
    }

    fileprivate var parameters: [PGValue] {
        [.text(app.tenant), .text(app.bundle), .text(app.environment.rawValue), .text(kind.rawValue)]
    }
}

/// An outage of a route, as it stands now.
package struct OutageRecord: Equatable, Sendable {
    /// Not positive: it may be probed.
    package let untilProbe: Duration
    /// It began with the failure that was just noted.
    package var isNew = false
}

// Outages are rows that any process may begin, probe and end; a process that dies leaves nothing behind but a probe's lease.
extension Store {
    /// All outages, for a process to know which routes it has to ask about.
    package func outages(by deadline: ContinuousClock.Instant) async throws(StoreError) -> Set<RouteKey> {
        let rows = try await query(
            "SELECT tenant_id, bundle, environment, route FROM outages LIMIT 10000",
            by: deadline
        )
        return Set(
            rows.map { row in
                RouteKey(
                    app: AppKey(tenant: row.wrapped(0), bundle: row.wrapped(1), environment: row.value(2)),
                    kind: row.value(3)
                )
            }
        )
    }

    /// - Returns: nil: there is no outage of that route.
    package func outage(
        of route: RouteKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> OutageRecord? {
        try await query(
            """
            SELECT (extract(epoch FROM next_probe_at - clock_timestamp()) * 1000)::bigint FROM outages
            WHERE (tenant_id, bundle, environment, route) = ($1, $2, $3, $4)
            """,
            route.parameters,
            by: deadline
        ).first.map { OutageRecord(untilProbe: .milliseconds($0.int(0))) }
    }

    /// Notes that a send failed as a whole: begins the outage, or puts the next probe off.
    ///
    /// - Parameters:
    ///   - route: That failed.
    ///   - isProbe: The send was the outage's probe. Others change nothing about one that stands.
    ///   - first: The first pause.
    ///   - deadline: For the round trip.
    /// - Returns: The outage as it stands now.
    /// - Throws: ``StoreError``.
    package func noteFailure(
        of route: RouteKey,
        isProbe: Bool,
        first: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> OutageRecord {
        // A clock that was set back must not keep a route from being probed.
        let longest = max(OutageRule.pauses.max() ?? .zero, OutageRule.probeLease)
        let row = try await query(
            """
            INSERT INTO outages AS o (tenant_id, bundle, environment, route, failing_since, next_probe_at)
            VALUES ($1, $2, $3, $4, clock_timestamp(), clock_timestamp() + make_interval(secs => $6))
            ON CONFLICT (tenant_id, bundle, environment, route) DO UPDATE SET
                probes = o.probes + CASE WHEN $5 OR o.next_probe_at <= clock_timestamp() THEN 1 ELSE 0 END,
                next_probe_at = CASE WHEN $5 OR o.next_probe_at <= clock_timestamp()
                        OR o.next_probe_at > clock_timestamp() + make_interval(secs => $8)
                    THEN clock_timestamp() + make_interval(
                        secs => ($7::double precision[])[least(o.probes + 2, cardinality($7::double precision[]))])
                    ELSE o.next_probe_at END
            RETURNING (extract(epoch FROM next_probe_at - clock_timestamp()) * 1000)::bigint, xmax = 0
            """,
            route.parameters + [
                .bool(isProbe), .seconds(first),
                .textArray(OutageRule.pauses.map { "\(Double($0.wholeMilliseconds) / 1000)" }), .seconds(longest),
            ],
            by: deadline
        )[0]
        return OutageRecord(untilProbe: .milliseconds(row.int(0)), isNew: row.bool(1))
    }

    /// Takes the outage's probe, if it is time and nobody else has it.
    package func takeProbe(
        of route: RouteKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await query(
            """
            UPDATE outages SET next_probe_at = clock_timestamp() + make_interval(secs => $5)
            WHERE (tenant_id, bundle, environment, route) = ($1, $2, $3, $4) AND next_probe_at <= clock_timestamp()
            """,
            route.parameters + [.seconds(OutageRule.probeLease)],
            by: deadline
        ).affectedRows == 1
    }

    /// The probe was taken, and there was nothing to send.
    package func giveBackProbe(of route: RouteKey, by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE outages SET next_probe_at = clock_timestamp()
            WHERE (tenant_id, bundle, environment, route) = ($1, $2, $3, $4)
            """,
            route.parameters,
            by: deadline
        )
    }

    /// The route answered: the outage is over, and everything that waits for it is due now.
    ///
    /// What others have locked just now looks at the outage by itself, within a probe's pause.
    /// - Returns: How long it lasted; nil: another process has ended it.
    package func endOutage(
        of route: RouteKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Duration? {
        let ended = PGStatement(
            """
            DELETE FROM outages WHERE (tenant_id, bundle, environment, route) = ($1, $2, $3, $4)
            RETURNING (extract(epoch FROM clock_timestamp() - failing_since) * 1000)::bigint
            """,
            route.parameters
        )
        let targets = PGStatement(
            """
            UPDATE targets SET due_at = clock_timestamp(), backoff = 0 WHERE ctid = ANY (ARRAY(
                SELECT t.ctid FROM matches m JOIN targets t USING (tenant_id, match_id)
                WHERE m.tenant_id = $1 AND m.bundle = $2 AND t.environment = $3 AND t.kind = $4
                  AND t.due_at > clock_timestamp() AND t.backoff > 0 FOR UPDATE OF t SKIP LOCKED))
            """,
            route.parameters
        )
        var statements = [ended, targets]
        if route.kind == .tokens { statements += Self.forward(Array(route.parameters.prefix(3))) }
        return try await pipeline(statements, by: deadline)[0].first.map { .milliseconds($0.int(0)) }
    }

    /// Single pushes and starts of an app that wait, and are not under way.
    private static func forward(_ app: [PGValue]) -> [PGStatement] {
        [
            PGStatement(
                """
                UPDATE stragglers SET due_at = clock_timestamp() WHERE ctid = ANY (ARRAY(
                    SELECT s.ctid FROM matches m JOIN stragglers s USING (tenant_id, match_id)
                    WHERE m.tenant_id = $1 AND m.bundle = $2 AND s.environment = $3
                      AND s.due_at > clock_timestamp() AND NOT s.is_sending FOR UPDATE OF s SKIP LOCKED))
                """,
                app
            ),
            PGStatement(
                """
                UPDATE starts SET due_at = clock_timestamp() WHERE ctid = ANY (ARRAY(
                    SELECT s.ctid FROM matches m JOIN starts s USING (tenant_id, match_id)
                    WHERE m.tenant_id = $1 AND m.bundle = $2 AND s.environment = $3
                      AND s.state = 'waiting' AND s.due_at > clock_timestamp() FOR UPDATE OF s SKIP LOCKED))
                """,
                app
            ),
            PGStatement(
                """
                UPDATE start_passes SET due_at = clock_timestamp() WHERE ctid = ANY (ARRAY(
                    SELECT p.ctid FROM matches m JOIN start_passes p USING (tenant_id, match_id)
                    WHERE m.tenant_id = $1 AND m.bundle = $2 AND p.environment = $3 AND p.began_at IS NOT NULL
                      AND p.lease_owner IS NULL AND p.due_at > clock_timestamp() FOR UPDATE OF p SKIP LOCKED))
                """,
                app
            ),
        ]
    }
}
