package import APNsProtocol
package import Core
internal import PostgreSQL

/// What a phone says of itself; what is nil stays as it was.
package struct DeviceDraft: Sendable {
    package var device: DeviceID
    package var bundle: BundleID?
    package var environment: APNsEnvironment?
    /// `.some(nil)`: it has none any more.
    package var token: DeviceToken??
    package var supportsChannels: Bool?
    package var allowsFrequentUpdates: Bool?
    package var topics: [Topic]?
    /// Matches that it has a card of.
    package var showing: [MatchID]?

    package init(device: DeviceID) { self.device = device }
}

/// What became of a device that was put.
package enum DeviceAnswer: Equatable, Sendable {
    case stored
    /// A new one needs its environment.
    case environmentMissing
    /// The tenant has several apps, or none: which one it is has to be said.
    case bundleMissing
    /// The tenant has no such app in this environment.
    case noApp
    case notFound
}

extension Store {
    /// Stores devices, any number in a few round trips. One that comes twice in a call counts as its last.
    ///
    /// Insert, commit, *then* look which matches' passes have gone by: those are started on it by themselves.
    /// - Parameters:
    ///   - drafts: What they say.
    ///   - tenant: Whose.
    ///   - mustExist: Change only, as `PATCH` does.
    ///   - deadline: For all of it.
    /// - Returns: An answer for each, in order.
    /// - Throws: ``StoreError``.
    package func putDevices(
        _ drafts: [DeviceDraft],
        tenant: TenantID,
        mustExist: Bool = false,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [DeviceAnswer] {
        var last: [DeviceID: DeviceDraft] = [:]
        for draft in drafts { last[draft.device] = draft }
        let distinct = last.values.sorted { $0.device.text < $1.device.text }
        let stored = try await self.tenant(
            tenant,
            by: deadline,
            [
                PGStatement(Self.putSQL, parameters(distinct, tenant, mustExist)),
                PGStatement(Self.oneTokenSQL, [.text(tenant), .textArray(distinct.map(\.device.text))]),
            ]
        )[0]
        var answers: [DeviceID: DeviceAnswer] = [:]
        for row in stored {
            let answer: DeviceAnswer =
                switch row.text(1) {
                case "stored": .stored
                case "environment": .environmentMissing
                case "bundle": .bundleMissing
                case "app": .noApp
                default: .notFound
                }
            answers[row.wrapped(0)] = answer
        }
        let known = answers.filter { $0.value == .stored }.map(\.key.text).sorted()
        if !known.isEmpty {
            let input: [PGValue] = [.text(tenant), .textArray(known)]
            let late = try await self.tenant(tenant, by: deadline, Self.lateSQL, input)
            // Apart, and afterwards: whoever holds a pass looks for what waits when it gives it back.
            if !late.isEmpty {
                _ = try await self.tenant(
                    tenant,
                    by: deadline,
                    """
                    UPDATE start_passes SET due_at = least(due_at, now())
                    WHERE tenant_id = $1 AND match_id = ANY ($2) AND lease_owner IS NULL AND state IN ('running', 'done')
                    """,
                    [.text(tenant), .textArray(Array(Set(late.map { $0.text(0) })))]
                )
            }
        }
        return drafts.map { answers[$0.device] ?? .notFound }
    }

    /// Forgets a device.
    ///
    /// - Returns: false: there was none.
    package func removeDevice(
        _ device: DeviceID,
        tenant: TenantID,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        try await self.tenant(
            tenant,
            by: deadline,
            "DELETE FROM devices WHERE tenant_id = $1 AND device = $2",
            [.text(tenant), .text(device)]
        ).affectedRows == 1
    }

    /// How many of a match's starts are in which state, by environment.
    package func startCounts(
        of match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> [(environment: APNsEnvironment, pass: String, counts: [String: Int64], joined: Int64)]
    {
        let results = try await tenant(
            match.tenant,
            by: deadline,
            [
                PGStatement(
                    """
                    SELECT p.environment, p.state, (SELECT count(*) FROM starts s WHERE s.tenant_id = $1
                        AND s.match_id = $2 AND s.environment = p.environment AND EXISTS (
                            SELECT FROM activities a WHERE a.tenant_id = $1 AND a.match_id = $2 AND a.device = s.device))
                    FROM start_passes p WHERE p.tenant_id = $1 AND p.match_id = $2 ORDER BY 1
                    """,
                    match.parameters
                ),
                PGStatement(
                    """
                    SELECT environment, state, count(*) FROM starts WHERE tenant_id = $1 AND match_id = $2 GROUP BY 1, 2
                    """,
                    match.parameters
                ),
            ]
        )
        return results[0].map { row in
            let environment = row.text(0)
            let counts = results[1].filter { $0.text(0) == environment }.map { ($0.text(1), $0.int(2)) }
            return (row.value(0), row.text(1), Dictionary(uniqueKeysWithValues: counts), row.int(2))
        }
    }

    private func parameters(_ drafts: [DeviceDraft], _ tenant: TenantID, _ mustExist: Bool) -> [PGValue] {
        [
            .text(tenant), .textArray(drafts.map(\.device.text)), .textArray(drafts.map { $0.bundle?.text }),
            .textArray(drafts.map { $0.environment?.rawValue }),
            // An empty text says that the token is gone.
            .textArray(drafts.map { draft in draft.token.map { $0?.text ?? "" } }),
            .textArray(drafts.map { draft in draft.supportsChannels.map { $0 ? "t" : "f" } }),
            .textArray(drafts.map { draft in draft.allowsFrequentUpdates.map { $0 ? "t" : "f" } }),
            .textArray(drafts.map { draft in draft.topics.map { Self.list($0.map(\.text)) } }),
            .textArray(drafts.map { draft in draft.showing.map { Self.list($0.map(\.text)) } }),
            .bool(mustExist),
        ]
    }

    /// A JSON list: an array of arrays would have to be a rectangle.
    private static func list(_ texts: [String]) -> String {
        String(decoding: JSONOutput.array(texts.map { .string($0) }).bytes, as: UTF8.self)
    }

    /// What is not said stays as it was.
    private static let putSQL = """
        WITH input AS (
            SELECT i.device, d.device IS NOT NULL AS is_known,
                   coalesce(i.bundle, d.bundle, (SELECT CASE WHEN count(DISTINCT bundle) = 1 THEN min(bundle) END
                       FROM apps WHERE tenant_id = $1)) AS bundle,
                   coalesce(i.environment, d.environment) AS environment,
                   CASE WHEN i.token IS NULL THEN d.push_to_start_token ELSE nullif(i.token, '') END AS token,
                   CASE WHEN i.token IS NULL THEN d.refused_reason END AS refused_reason,
                   coalesce(i.supports::boolean, d.supports_channels, false) AS supports,
                   coalesce(i.frequent::boolean, d.frequent, false) AS frequent,
                   CASE WHEN i.topics IS NULL THEN coalesce(d.topics, '{}')
                       ELSE ARRAY(SELECT json_array_elements_text(i.topics::json)) END AS topics,
                   CASE WHEN i.showing IS NULL THEN coalesce(d.showing, '{}')
                       ELSE ARRAY(SELECT json_array_elements_text(i.showing::json)) END AS showing
            FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
                AS i (device, bundle, environment, token, supports, frequent, topics, showing)
            LEFT JOIN devices d ON d.tenant_id = $1 AND d.device = i.device
        ), judged AS (
            SELECT *, CASE WHEN $10 AND NOT is_known THEN 'not_found' WHEN environment IS NULL THEN 'environment'
                WHEN bundle IS NULL THEN 'bundle'
                WHEN NOT EXISTS (SELECT FROM apps a WHERE a.tenant_id = $1 AND a.bundle = input.bundle
                    AND a.environment = input.environment) THEN 'app' ELSE 'stored' END AS verdict
            FROM input
        ), written AS (
            INSERT INTO devices AS d (tenant_id, device, bundle, environment, push_to_start_token, refused_reason,
                                      supports_channels, frequent, topics, showing)
            SELECT $1, device, bundle, environment, token, refused_reason, supports, frequent, topics, showing
            FROM judged WHERE verdict = 'stored' ORDER BY device
            ON CONFLICT (tenant_id, device) DO UPDATE SET
                bundle = excluded.bundle, environment = excluded.environment,
                push_to_start_token = excluded.push_to_start_token, refused_reason = excluded.refused_reason,
                supports_channels = excluded.supports_channels, frequent = excluded.frequent,
                topics = excluded.topics, showing = excluded.showing, updated_at = clock_timestamp()
        )
        SELECT device, verdict FROM judged
        """

    /// An app that was installed anew may come under another id: the same phone would be started twice.
    private static let oneTokenSQL = """
        UPDATE devices d SET push_to_start_token = NULL FROM devices n
        WHERE n.tenant_id = $1 AND n.device = ANY ($2) AND n.push_to_start_token IS NOT NULL AND d.tenant_id = $1
          AND d.push_to_start_token = n.push_to_start_token
          AND (d.bundle, d.environment) = (n.bundle, n.environment)
          AND (d.updated_at, d.device) < (n.updated_at, n.device)
        """

    /// Devices that follow a match whose pass has begun: the pass may have gone by them.
    private static let lateSQL = """
        INSERT INTO starts (tenant_id, match_id, device, environment, state, due_at)
        SELECT $1, p.match_id, d.device, d.environment, 'waiting', now()
        FROM devices d
        JOIN start_passes p ON p.tenant_id = $1 AND p.environment = d.environment AND p.start_until > now()
            AND (p.lease_owner IS NOT NULL OR p.state IN ('running', 'done'))
        JOIN matches m ON m.tenant_id = $1 AND m.match_id = p.match_id AND m.bundle = d.bundle
            AND d.topics && (m.topics || ('match:' || m.match_id))
        WHERE d.tenant_id = $1 AND d.device = ANY ($2) AND d.push_to_start_token IS NOT NULL
          AND d.refused_reason IS NULL AND NOT p.match_id = ANY (d.showing)
          AND m.deleted_at IS NULL AND m.end_requested_at IS NULL AND m.end_version IS NULL
          AND m.status IN ('scheduled', 'live')
          AND NOT EXISTS (SELECT FROM activities a WHERE a.tenant_id = $1 AND a.match_id = p.match_id
              AND a.device = d.device)
        ON CONFLICT (tenant_id, match_id, device) DO UPDATE SET state = 'waiting', reason = NULL,
            due_at = CASE starts.state WHEN 'waiting' THEN starts.due_at ELSE now() END
        -- A token that APNs refused has started nothing. And who is put again may wait for a pass that was never woken.
        WHERE starts.state IN ('refused', 'waiting') RETURNING match_id
        """
}
