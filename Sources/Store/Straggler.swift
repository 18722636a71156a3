internal import APNsProtocol
package import Core
package import PostgreSQL

/// A failure of a sweep's page, to be left to a push of its own.
package struct Straggler: Sendable {
    package let activity: ActivityID
    package let delay: Duration

    package init(activity: ActivityID, delay: Duration) {
        self.activity = activity
        self.delay = delay
    }
}

/// The failures of one page.
package struct HandedOver: Sendable {
    package let target: TargetKey
    /// The version that they failed to get.
    package let version: Int64
    package let isUrgent: Bool
    /// The alert that went with it; 0: none.
    package let alertVersion: Int64
    package let stragglers: [Straggler]

    package init(target: TargetKey, version: Int64, isUrgent: Bool, alertVersion: Int64, stragglers: [Straggler]) {
        self.target = target
        self.version = version
        self.isUrgent = isUrgent
        self.alertVersion = alertVersion
        // Rows are locked in one order.
        self.stragglers = stragglers.sorted { $0.activity.text < $1.activity.text }
    }

    /// A token has one straggler at most: the newer failure stands for the older one, and an alert not had is kept.
    ///
    /// Only who still holds the lease hands over: the page's counts are written under the same condition.
    func statement(epoch: Int64) -> PGStatement {
        PGStatement(
            """
            SELECT touchline_hand_over($1, $2, $3, $4, $5::smallint, $6, $7, $8, $9::text[], $10::bigint[], $11::integer)
            WHERE EXISTS (SELECT FROM targets WHERE tenant_id = $1 AND match_id = $2 AND kind = 'tokens'
                AND environment = $3 AND cadence = $4 AND shard = $5::smallint AND lease_epoch = $12)
            """,
            target.match.parameters + [
                .text(target.environment.rawValue), .text(target.cadence.rawValue), .int(target.shard), .int(version),
                .bool(isUrgent), .int(alertVersion), .textArray(stragglers.map(\.activity.text)),
                .int8Array(stragglers.map(\.delay.wholeMilliseconds)), .int(Store.mostStragglers), .int(epoch),
            ]
        )
    }
}

extension HandedOver {
    /// The end may have got its stamp while the page was under way: then its sweep is to leave these rows alone, so that it does
    /// not overtake the alert that they lack. The sweep reads them again only behind this.
    var takenFromEnd: PGStatement? {
        guard alertVersion > 0 else { return nil }
        return PGStatement(
            """
            UPDATE activities SET registered_xid = pg_current_xact_id() WHERE ctid = ANY (ARRAY(
                SELECT a.ctid FROM unnest($3::text[]) AS d (activity)
                CROSS JOIN LATERAL (\(Store.activity("d.activity", isLocked: true))) a
                WHERE EXISTS (SELECT FROM matches m WHERE m.tenant_id = $1 AND m.match_id = $2
                    AND m.version = m.end_version AND m.version = m.stamped_version AND m.version > $4
                    AND m.alert IS NOT NULL AND m.alert_version = $5 AND m.alert_expires_at > clock_timestamp())))
            """,
            target.match.parameters + [
                .textArray(stragglers.map(\.activity.text)), .int(version), .int(alertVersion),
            ]
        )
    }
}

/// A straggler that this process has claimed.
package struct ClaimedStraggler: Sendable {
    package let match: MatchKey
    package let activity: ActivityID
    /// The line that it is counted with.
    package let target: TargetKey
    package let version: Int64
    package let isUrgent: Bool
    package let alertVersion: Int64
    /// How often it has failed: 0 if it stands for a registration that nothing was sent to yet.
    package let attempts: Int
    /// A sweep failed to bring it the version.
    package let isHanded: Bool
    /// Until when the claim holds; it is also the mark that the claim is still ours.
    package let claimedUntil: PGTimestamp
}

/// What is known of a straggler's phone at the moment when it is to be sent to.
package struct StragglerRow: Sendable {
    package let row: TokenRow
    package let facts: StragglerFacts
    /// Of the shard that the phone is in.
    package let cadence: Cadence
    package let pacing: PacingRecord
}

/// What a straggler's push came to.
package enum StragglerEnd: String, Sendable {
    case accepted
    case removed
    case refused
    case givenUp = "given_up"
    /// A newer version stands for it, that a sweep brings or has brought.
    case merged
}
