package import Core
internal import PostgreSQL

/// A start that was recorded by an earlier holder of a pass's claim, who wrote no end of it down.
package struct LeftStart: Sendable {
    package let device: DeviceID
    /// That holder's claim.
    package let sender: String
}

// What a process leaves behind that dies in the middle of a match's starts.
extension Store {
    /// Ends claims whose holders are known to be dead: their passes are due.
    package func endClaims(_ leases: [String], by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await query(
            "UPDATE start_passes SET due_at = now() WHERE lease_owner = ANY ($1) AND due_at > now()",
            [.textArray(leases)],
            by: deadline
        )
    }

    /// Sees to starts that wait and that nobody comes for: a process may have died between writing one down and waking its
    /// match's pass, and a match may have ended meanwhile.
    package func lookAfterWaitingStarts(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        let isOver = """
            (p.state = 'cancelled' OR p.start_until <= now() OR NOT EXISTS (
                SELECT FROM matches m WHERE (m.tenant_id, m.match_id) = (p.tenant_id, p.match_id)
                  AND m.deleted_at IS NULL AND m.end_version IS NULL))
            """
        _ = try await pipeline(
            [
                PGStatement(
                    """
                    UPDATE starts s SET state = 'given_up', reason = 'the match was over', due_at = NULL
                    FROM start_passes p
                    WHERE s.state = 'waiting' AND p.lease_owner IS NULL AND \(isOver)
                      AND (p.tenant_id, p.match_id, p.environment) = (s.tenant_id, s.match_id, s.environment)
                    """
                ),
                PGStatement(
                    """
                    UPDATE start_passes p SET due_at = now()
                    WHERE p.due_at IS NULL AND p.lease_owner IS NULL AND p.state IN ('running', 'done')
                      AND (p.tenant_id, p.match_id, p.environment) IN (
                          SELECT s.tenant_id, s.match_id, s.environment FROM starts s WHERE s.state = 'waiting')
                    """
                ),
            ],
            by: deadline
        )
    }

    /// The starts of a pass that an earlier holder of its claim had recorded, and of which it wrote no end down.
    package func startsLeft(
        of pass: StartPass,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [LeftStart] {
        try await query(
            """
            SELECT device, sender FROM starts
            WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND state = 'sending'
              AND sender IS DISTINCT FROM $4
            """,
            pass.key + [.text(pass.lease)],
            by: deadline
        ).map { LeftStart(device: $0.wrapped(0), sender: $0.optionalText(1) ?? "") }
    }

    /// Writes down what is known of starts that an earlier holder has left: accepted, waiting (at once), or unknown for good.
    ///
    /// - Returns: false: the claim is lost, and nothing was written.
    package func settleLeftStarts(
        _ starts: [(start: LeftStart, state: StartResult.State)],
        of pass: StartPass,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await query(
            """
            WITH held AS (
                SELECT FROM start_passes
                WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND lease_owner = $4
                FOR UPDATE
            ), settled AS (
                UPDATE starts s SET state = r.state,
                    reason = CASE r.state WHEN 'unknown' THEN 'the process that sent it was gone' END,
                    due_at = CASE r.state WHEN 'waiting' THEN now() END
                FROM unnest($5::text[], $6::text[], $7::text[]) AS r (device, sender, state)
                WHERE EXISTS (SELECT FROM held)
                  AND s.tenant_id = $1 AND s.match_id = $2 AND s.environment = $3 AND s.device = r.device
                  AND s.sender = r.sender AND s.state = 'sending'
            )
            SELECT FROM held
            """,
            pass.key + [
                .text(pass.lease), .textArray(starts.map(\.start.device.text)),
                .textArray(starts.map(\.start.sender)), .textArray(starts.map(\.state.rawValue)),
            ],
            by: deadline
        ).affectedRows == 1
    }
}
