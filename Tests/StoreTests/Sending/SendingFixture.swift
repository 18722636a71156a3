import APNsProtocol
import Core
import PostgreSQL
import Store
import TestSupport
import Testing

/// A tenant with one app and one match, written straight into the database.
struct SendingFixture {
    let store: Store
    let tenant: TenantID
    let match: MatchID
    let bundle = BundleID(validating: "com.example.scores")

    var key: MatchKey { MatchKey(tenant: tenant, match: match) }

    /// The shard of frequent phones.
    var target: TargetKey { TargetKey(match: key, kind: .tokens, environment: .production, cadence: .frequent) }

    /// For every call.
    static var soon: ContinuousClock.Instant { .patient }

    init(store: Store, tenant: String = "t_acme", match: String = "final", declaresFrequent: Bool = true) async throws {
        self.store = store
        self.tenant = try #require(TenantID(validating: tenant))
        self.match = MatchID(unchecked: match)
        _ = try await store.owner(
            by: Self.soon,
            [
                PGStatement("INSERT INTO tenants VALUES ($1, $1) ON CONFLICT DO NOTHING", [.text(tenant)]),
                PGStatement(
                    """
                    INSERT INTO apps (tenant_id, bundle, environment, team_id, key_id, p8_ciphertext, key_fingerprint,
                                      frequent_updates_declared)
                    VALUES ($1, 'com.example.scores', 'production', 'TEAM000001', 'KEY0000001', '', '', $2)
                    ON CONFLICT DO NOTHING
                    """,
                    [.text(tenant), .bool(declaresFrequent)]
                ),
                PGStatement(
                    """
                    INSERT INTO matches (tenant_id, match_id, bundle, attributes_type, kickoff_at, content_state)
                    VALUES ($1, $2, 'com.example.scores', 'Score', now(), '{"home":0}')
                    """,
                    [.text(tenant), .text(match)]
                ),
            ]
        )
    }

    /// Posts an event and expects it to be accepted.
    @discardableResult
    func event(
        _ id: String,
        kind: EventKind = .update,
        importance: Importance = .routine,
        sequence: Int64? = nil,
        occurredAt: Timestamp? = nil,
        state: String? = #"{"home":1}"#,
        alert: String? = nil,
        body: [UInt8] = [1],
        by deadline: ContinuousClock.Instant = Self.soon
    ) async throws -> EventAnswer {
        try await store.accept(
            FeedEvent(
                id: EventID(unchecked: id),
                kind: kind,
                importance: importance,
                sequence: sequence,
                occurredAt: occurredAt,
                contentState: state.map(RawJSON.init(text:)),
                alert: alert.map(RawJSON.init(text:))
            ),
            bodyDigest: body,
            match: match,
            tenant: tenant,
            by: deadline
        ).answer
    }

    func registration(
        _ activity: String,
        token: String? = nil,
        frequent: Bool = true,
        shown: Int64? = nil,
        environment: APNsEnvironment = .production
    ) throws -> ActivityRegistration {
        ActivityRegistration(
            activity: ActivityID(unchecked: activity),
            token: try #require(DeviceToken(validating: token ?? Self.token(of: activity))),
            environment: environment,
            allowsFrequentUpdates: frequent,
            shownVersion: shown
        )
    }

    /// Each activity has a token of its own.
    private static func token(of activity: String) -> String {
        activity.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @discardableResult
    func register(_ registrations: [ActivityRegistration]) async throws -> [ActivityAnswer] {
        try await store.register(registrations, match: key, by: Self.soon)
    }

    /// Claims all that is due.
    func claim(_ owner: String = "me", lease: Duration = .seconds(10)) async throws -> [TargetRecord] {
        let room = ClaimRoom(all: 100, tokens: 100)
        return try await store.claimDue(room, running: [:], owner: owner, lease: lease, by: Self.soon)
            .claimed.map(\.record)
    }

    /// Of stragglers that were sent `version`.
    static func report(version: Int64) -> StragglerReport {
        let now = Moment(seconds: 1_790_000_000)
        return StragglerReport(
            version: version,
            priority: 5,
            isDowngraded: false,
            acceptedAt: now,
            firstPushAt: now,
            lastPushAt: now
        )
    }

    /// One value of one row.
    func value(_ sql: String, _ parameters: [PGValue] = []) async throws -> String? {
        try await store.owner(by: Self.soon, sql, parameters).first?.optionalText(0)
    }
}
