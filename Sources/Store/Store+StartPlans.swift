package import APNsProtocol
package import Core
package import PostgreSQL

extension Store {
    /// Passes that have begun and wait, for the end of a pause perhaps, look again at once. To be narrowed by `AND`.
    static let resumeStarts = """
        UPDATE start_passes SET due_at = now()
        WHERE began_at IS NOT NULL AND lease_owner IS NULL AND due_at > now()
        """

    /// How long after its kick-off a match may still be started on a phone.
    private static let startWindow = "interval '90 minutes'"

    /// Plans matches' starts, one pass for each environment of their app; for the transaction that makes or moves a match, or
    /// changes an app.
    ///
    /// Only a match with an alert for its start has any: iOS starts nothing without one.
    /// - Parameters:
    ///   - tenant: Whose.
    ///   - match: Only this one; nil: all matches of `bundle`.
    ///   - bundle: Only of this app; nil: of `match`, whatever its app.
    /// - Returns: One statement; it may run as the API's role.
    package static func planStarts(
        tenant: TenantID,
        match: MatchID? = nil,
        bundle: BundleID? = nil
    ) -> PGStatement {
        PGStatement(
            """
            INSERT INTO start_passes AS p (tenant_id, match_id, environment, due_at, start_until)
            SELECT m.tenant_id, m.match_id, a.environment, m.kickoff_at - make_interval(secs => coalesce(m.start_lead, a.start_lead)),
                   m.kickoff_at + \(startWindow)
            FROM matches m JOIN apps a ON a.tenant_id = m.tenant_id AND a.bundle = m.bundle
            WHERE m.tenant_id = $1 AND ($2::text IS NULL OR m.match_id = $2) AND ($3::text IS NULL OR m.bundle = $3)
              AND m.deleted_at IS NULL AND m.end_version IS NULL AND m.start_alert IS NOT NULL
              AND m.status IN ('scheduled', 'live') AND m.kickoff_at + \(startWindow) > now()
            ON CONFLICT (tenant_id, match_id, environment) DO UPDATE
            SET start_until = excluded.start_until,
                state = CASE p.state WHEN 'cancelled' THEN 'waiting' ELSE p.state END,
                due_at = CASE WHEN p.state IN ('waiting', 'cancelled') AND p.lease_owner IS NULL THEN excluded.due_at ELSE p.due_at END
            """,
            [.text(tenant), .text(match?.text), .text(bundle?.text)]
        )
    }

    /// Starts a match on its followers' phones now, whatever the app's lead; those that it was started on already are not
    /// started again.
    ///
    /// - Parameters:
    ///   - match: Which.
    ///   - alert: What its starts say from now on; nil: what they say already.
    ///   - deadline: For the statements.
    /// - Returns: false: it has no alert, or is over, postponed or abandoned.
    /// - Throws: ``StoreError``.
    package func startNow(
        _ match: MatchKey,
        alert: RawJSON?,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await tenant(
            match.tenant,
            by: deadline,
            [
                PGStatement(
                    """
                    UPDATE matches SET start_alert = coalesce($3, start_alert)
                    WHERE tenant_id = $1 AND match_id = $2 AND deleted_at IS NULL
                    """,
                    match.parameters + [.json(alert)]
                ),
                PGStatement(
                    """
                    INSERT INTO start_passes AS p (tenant_id, match_id, environment, due_at, start_until)
                    SELECT m.tenant_id, m.match_id, a.environment, now(),
                           greatest(m.kickoff_at + \(Self.startWindow), now() + interval '10 minutes')
                    FROM matches m JOIN apps a ON a.tenant_id = m.tenant_id AND a.bundle = m.bundle
                    WHERE m.tenant_id = $1 AND m.match_id = $2 AND m.deleted_at IS NULL AND m.start_alert IS NOT NULL
                      AND m.end_requested_at IS NULL AND m.end_version IS NULL AND m.status IN ('scheduled', 'live')
                    ON CONFLICT (tenant_id, match_id, environment) DO UPDATE
                    SET start_until = greatest(p.start_until, excluded.start_until),
                        state = CASE p.state WHEN 'cancelled' THEN 'waiting' ELSE p.state END,
                        due_at = CASE WHEN p.lease_owner IS NULL THEN now() ELSE p.due_at END
                    """,
                    match.parameters
                ),
            ]
        )[1].affectedRows > 0
    }
}
