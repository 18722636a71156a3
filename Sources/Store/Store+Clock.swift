internal import Core
internal import PostgreSQL

// The database's clock: see Core's `ClockRule`.
extension Store {
    /// Looks at the clock, and lets nothing wait for one that was set back.
    ///
    /// - Returns: By how much it was set back since somebody looked last; nil: it was not.
    package func lookAtClock(by deadline: ContinuousClock.Instant) async throws(StoreError) -> Duration? {
        let results = try await pipeline(
            [
                "SELECT seen_at, clock_timestamp(), claims_end_at FROM clock",
                """
                UPDATE clock SET seen_at = clock_timestamp()
                WHERE seen_at < clock_timestamp() - interval '0.9 seconds'
                """,
                Self.unhurried,
            ],
            by: deadline
        )
        guard let row = results[0].first else { return nil }
        let seenAt = row.moment(0)
        switch ClockRule.duty(seenAt: seenAt, now: row.moment(1), claimsEndAt: row.optionalMoment(2)) {
        case .none:
            return nil
        case .mend(let step):
            _ = try await pipeline(Self.mend(by: step), by: deadline)
            return step
        case .endClaims:
            _ = try await pipeline(Self.endOldClaims, by: deadline)
            return nil
        }
    }

    /// Something that waits, but not for an outage's end.
    private static func waits(_ column: String) -> String {
        "\(column) > now() AND \(column) < now() + interval '50 years'"
    }

    /// Makes due what waits, keeps what is claimed for a moment, and moves back what has a length: alerts, holds,
    /// resends. Times of the calendar stay: kick-offs, and when channels are made and deleted.
    private static func mend(by step: Duration) -> [PGStatement] {
        let claims = "make_interval(secs => $1)"
        let claim: [PGValue] = [.seconds(ClockRule.longestClaim)]
        let back: [PGValue] = [.seconds(step)]
        return [
            // Whoever comes second finds nothing to mend.
            PGStatement(
                """
                UPDATE clock SET seen_at = clock_timestamp(), claims_end_at = clock_timestamp() + \(claims)
                """,
                claim
            ),
            PGStatement(
                "UPDATE targets SET lease_until = now() + \(claims) WHERE lease_until > now() + \(claims)",
                claim
            ),
            PGStatement("UPDATE targets SET due_at = now() WHERE \(waits("due_at"))"),
            PGStatement("UPDATE stragglers SET due_at = now() WHERE NOT is_sending AND \(waits("due_at"))"),
            PGStatement("UPDATE starts SET due_at = now() WHERE state = 'waiting' AND \(waits("due_at"))"),
            PGStatement(
                """
                UPDATE start_passes SET due_at = CASE WHEN lease_owner IS NULL THEN now()
                    ELSE least(due_at, now() + \(claims)) END
                WHERE (lease_owner IS NOT NULL OR state IN ('running', 'done')) AND \(waits("due_at"))
                """,
                claim
            ),
            PGStatement("UPDATE channels SET next_at = now() WHERE attempts > 0 AND \(waits("next_at"))"),
            PGStatement("UPDATE channels SET creating_at = now() WHERE creating_at > now()"),
            PGStatement(
                "UPDATE channel_makers SET lease_until = now() + \(claims) WHERE lease_until > now() + \(claims)",
                claim
            ),
            PGStatement("UPDATE outages SET next_probe_at = now() WHERE next_probe_at > now()"),
            PGStatement(
                """
                UPDATE matches SET housekeep_at = now(), end_due_at = end_due_at - make_interval(secs => $1),
                    resend_at = resend_at - make_interval(secs => $1)
                WHERE housekeep_at > now()
                  AND (end_due_at IS NOT NULL OR resend_at IS NOT NULL OR end_version IS NOT NULL
                      OR deleted_at IS NOT NULL)
                """,
                back
            ),
            // Events that came since have times of the clock as it is.
            PGStatement(
                """
                UPDATE matches SET accepted_at = now(), alert_expires_at = alert_expires_at - make_interval(secs => $1)
                WHERE accepted_at > now()
                """,
                back
            ),
        ]
    }

    /// What the earlier clock claimed for longer than a claim lasts, and nobody has brought to an end.
    private static let endOldClaims: [PGStatement] = {
        let claims = "interval '\(ClockRule.longestClaim.components.seconds) seconds'"
        return [
            "UPDATE clock SET claims_end_at = NULL",
            PGStatement(
                """
                UPDATE stragglers SET due_at = now(), is_sending = false
                WHERE is_sending AND due_at > now() + \(claims) AND \(waits("due_at"))
                """
            ),
        ]
    }()
}
