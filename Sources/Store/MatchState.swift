package import APNsProtocol
package import Core
internal import PostgreSQL

/// A match's newest version and the app that it goes out for, as read at one moment.
package struct MatchState: Sendable {
    package let key: MatchKey
    /// The database's clock when this was read.
    package private(set) var now: Moment
    package let head: MatchHead
    package let bundle: BundleID
    /// JSON, as it came.
    package let contentState: String
    package let acceptedAt: Moment
    package let staleAfter: Duration?
    /// A number's text, as it came.
    package let relevanceScore: String?
    package let apsExtra: String?
    /// The pending alert, if ``MatchHead/alertExpiresAt`` says that it is; JSON, as it came.
    package let alert: String?
    /// The version that ``lastStamp`` belongs to.
    package private(set) var stampedVersion: Int64
    /// UNIX seconds; 0: none yet.
    package private(set) var lastStamp: Int64
    /// When that was given; nil: not known.
    package private(set) var stampedAt: Moment?
    package let endRequestedAt: Moment?
    package let dismissAfter: Duration?
    package let isDeleted: Bool
    package let isPaused: Bool
    /// nil: the app does not exist in this environment (any more).
    package let app: AppState?

    package var isStamped: Bool { stampedVersion == head.version }

    /// The same version, with its stamp.
    func stamped(_ stamp: Int64) -> MatchState {
        var copy = self
        copy.stampedVersion = head.version
        copy.lastStamp = stamp
        copy.stampedAt = now
        return copy
    }

    /// As it will be at `moment`, if nothing else comes: what is composed of it would go out then, with this stamp.
    package func foreseen(at moment: Moment, stamp: Int64) -> MatchState {
        var copy = stamped(stamp)
        copy.now = moment
        return copy
    }
}

/// What sending has to know of an app.
package struct AppState: Sendable {
    package let key: AppKey
    /// Changes whenever the app's key does.
    package let credential: Int64
    package let declaresFrequentUpdates: Bool
    package let frequent: PacingLimits
    package let standard: PacingLimits
    package let staleAfter: Duration
    package let tokensStopped: String?
    package let channelsStopped: String?
    package let isPaused: Bool

    /// Shards and channels go by the phone's own setting; whether the app declares frequent updates is looked at here, so
    /// that a changed declaration holds from the next push on.
    package func limits(for cadence: Cadence) -> PacingLimits {
        switch cadence {
        case .standard: standard
        case .frequent, .any: declaresFrequentUpdates ? frequent : standard
        }
    }
}

extension MatchState {
    /// Of a match `m`, with ``joins(_:)``.
    static let columns = """
        m.tenant_id, m.match_id, clock_timestamp(), m.version, m.urgent_version, m.alert_version, \
        CASE WHEN m.alert IS NOT NULL THEN m.alert_expires_at END, m.end_version, m.bundle, m.content_state, \
        m.accepted_at, m.stale_after, m.relevance_score, m.aps_extra, m.alert, m.stamped_version, m.last_stamp, \
        m.end_requested_at, m.dismiss_after, m.deleted_at IS NOT NULL, \
        m.paused_at IS NOT NULL OR n.paused_at IS NOT NULL, \
        a.environment, a.credential_id, a.frequent_updates_declared, a.frequent_gap_seconds, \
        a.frequent_urgent_per_hour, a.standard_gap_seconds, a.standard_urgent_per_hour, a.stale_after, \
        a.tokens_stopped, a.channels_stopped, a.paused_at IS NOT NULL, m.stamped_at
        """
    static let columnCount = 33

    /// What ``columns`` needs beside the match; `environment` in SQL.
    static func joins(_ environment: String) -> String {
        """
        LEFT JOIN tenants n ON n.tenant_id = m.tenant_id
        LEFT JOIN apps a ON a.tenant_id = m.tenant_id AND a.bundle = m.bundle AND a.environment = \(environment)
        """
    }

    /// Parameters: tenant, match, environment.
    static let sql =
        "SELECT \(columns) FROM matches m \(joins("$3")) WHERE m.tenant_id = $1 AND m.match_id = $2"

    static func statement(_ key: MatchKey, _ environment: APNsEnvironment) -> PGStatement {
        PGStatement(sql, key.parameters + [.text(environment.rawValue)])
    }

    /// ``columns`` from `first` on.
    init(_ row: PGRow, from first: Int = 0) {
        key = row.matchKey(first)
        now = row.moment(first + 2)
        head = MatchHead(
            version: row.int(first + 3),
            urgentVersion: row.int(first + 4),
            alertVersion: row.int(first + 5),
            alertExpiresAt: row.optionalMoment(first + 6),
            endVersion: row.optionalInt(first + 7)
        )
        bundle = row.wrapped(first + 8)
        contentState = row.text(first + 9)
        acceptedAt = row.moment(first + 10)
        staleAfter = row.optionalInt(first + 11).map { .seconds($0) }
        relevanceScore = row.optionalText(first + 12)
        apsExtra = row.optionalText(first + 13)
        alert = row.optionalText(first + 14)
        stampedVersion = row.int(first + 15)
        lastStamp = row.int(first + 16)
        stampedAt = row.optionalMoment(first + 32)
        endRequestedAt = row.optionalMoment(first + 17)
        dismissAfter = row.optionalInt(first + 18).map { .seconds($0) }
        isDeleted = row.bool(first + 19)
        isPaused = row.bool(first + 20)
        app = row.isNull(first + 21) ? nil : AppState(row, from: first + 21, tenant: key.tenant, bundle: bundle)
    }
}

extension AppState {
    fileprivate init(_ row: PGRow, from first: Int, tenant: TenantID, bundle: BundleID) {
        key = AppKey(tenant: tenant, bundle: bundle, environment: row.value(first))
        credential = row.int(first + 1)
        declaresFrequentUpdates = row.bool(first + 2)
        frequent = PacingLimits(gap: .seconds(row.int(first + 3)), urgentPerHour: Int(row.int(first + 4)))
        standard = PacingLimits(gap: .seconds(row.int(first + 5)), urgentPerHour: Int(row.int(first + 6)))
        staleAfter = .seconds(row.int(first + 7))
        tokensStopped = row.optionalText(first + 8)
        channelsStopped = row.optionalText(first + 9)
        isPaused = row.bool(first + 10)
    }
}
