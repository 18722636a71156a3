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
