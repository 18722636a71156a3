package import APNsProtocol
package import Core
internal import PostgreSQL

/// A match's starts in one environment, claimed by this process.
package struct StartPass: Sendable {
    package let match: MatchKey
    package let environment: APNsEnvironment
    /// Names the claim; a page is recorded only while it stands.
    package let lease: String
    /// The claim of its last holder, who did not give it back; nil: it was given back.
    package let abandoned: String?

    var key: [PGValue] { match.parameters + [.text(environment.rawValue)] }
}

/// A start that is recorded and may go out, once.
package struct RecordedStart: Sendable {
    package let device: DeviceID
    package let token: DeviceToken
    package let supportsChannels: Bool
    package let allowsFrequentUpdates: Bool
    /// This one included.
    package let attempts: Int
}

/// What a start needs of its match beyond its state.
package struct StartContent: Sendable {
    package let attributesType: AttributesType
    package let attributes: RawJSON
    package let alert: RawJSON
    /// Open ones, in the pass's environment.
    package let channels: [ChannelRecord]
    package let mode: ChannelMode
    /// Whether the app reaches phones by update tokens at all.
    package let usesTokens: Bool
    /// A channel of the match is being made, and the pass has not waited for it for two minutes yet.
    package let awaitsChannel: Bool
    /// One is to be made only later, by the app's lead.
    package let lacksChannel: Bool
}

/// What became of a recorded start.
package struct StartResult: Sendable {
    package enum State: String, Sendable {
        case accepted
        /// It may have arrived: two cards are worse than none.
        case unknown
        case refused
        case givenUp = "given_up"
        /// APNs said "later": it has not arrived.
        case waiting
    }

    package let device: DeviceID
    /// That it was sent to; nil: it was not.
    package let token: DeviceToken?
    package let state: State
    package let reason: String?
    package let delay: Duration?

    package init(
        _ device: DeviceID,
        _ token: DeviceToken?,
        _ state: State,
        reason: String? = nil,
        delay: Duration? = nil
    ) {
        self.device = device
        self.token = token
        self.state = state
        self.reason = reason
        self.delay = delay
    }
}

extension Store {
    /// Claims a pass whose time has come.
    ///
    /// - Returns: nil if none is due, with how long until one may be.
    package func claimStartPass(
        owner: String,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (pass: StartPass?, next: Duration?) {
        let results = try await pipeline(
            [
                PGStatement(
                    """
                    WITH due AS (
                        SELECT tenant_id, match_id, environment, lease_owner AS abandoned
                        FROM start_passes WHERE due_at <= now()
                        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
                    ), taken AS (
                        UPDATE start_passes p SET due_at = now() + make_interval(secs => $2), lease_owner = $1,
                            began_at = coalesce(p.began_at, now())
                        FROM due d
                        WHERE (p.tenant_id, p.match_id, p.environment) = (d.tenant_id, d.match_id, d.environment)
                        RETURNING p.*, d.abandoned
                    )
                    SELECT tenant_id, match_id, environment, abandoned FROM taken
                    """,
                    [.text(owner), .seconds(lease)]
                ),
                PGStatement(
                    "SELECT (extract(epoch FROM min(due_at) - clock_timestamp()) * 1000)::bigint FROM start_passes"
                ),
            ],
            by: deadline
        )
        let pass = results[0].first.map { row in
            StartPass(match: row.matchKey(0), environment: row.value(2), lease: owner, abandoned: row.optionalText(3))
        }
        return (pass, results[1].first?.optionalInt(0).map { .milliseconds(max(0, $0)) })
    }

    /// What every start of the match carries; nil if it has no alert or no app here.
    package func startContent(
        of pass: StartPass,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> StartContent? {
        let results = try await pipeline(
            [
                PGStatement(
                    """
                    SELECT m.attributes_type, m.attributes, m.start_alert, a.channels, a.tokens FROM matches m
                    JOIN apps a ON a.tenant_id = m.tenant_id AND a.bundle = m.bundle AND a.environment = $3
                    WHERE m.tenant_id = $1 AND m.match_id = $2 AND m.start_alert IS NOT NULL
                    """,
                    pass.key
                ),
                PGStatement(
                    """
                    SELECT \(ChannelRecord.columns) FROM channels c
                    WHERE c.tenant_id = $1 AND c.match_id = $2 AND c.environment = $3 AND c.state = 'open'
                    """,
                    pass.key
                ),
                PGStatement(
                    // A housekeeper's claim puts its time off a quarter of a minute.
                    """
                    SELECT bool_or(c.creating_at IS NOT NULL OR c.next_at <= now() + interval '20 seconds'),
                           bool_or(c.creating_at IS NULL AND c.attempts = 0 AND c.next_at > now())
                    FROM start_passes p JOIN channels c
                        ON (c.tenant_id, c.match_id, c.environment) = (p.tenant_id, p.match_id, p.environment)
                    WHERE p.tenant_id = $1 AND p.match_id = $2 AND p.environment = $3
                      AND p.began_at > now() - interval '2 minutes' AND c.state = 'pending'
                    """,
                    pass.key
                ),
            ],
            by: deadline
        )
        return results[0].first.map { row in
            StartContent(
                attributesType: row.wrapped(0),
                attributes: row.optionalJSON(1) ?? RawJSON(text: "{}"),
                alert: row.json(2),
                channels: results[1].map { ChannelRecord($0) },
                mode: row.value(3),
                usesTokens: row.bool(4),
                awaitsChannel: results[2].first?.optionalBool(0) ?? false,
                lacksChannel: results[2].first?.optionalBool(1) ?? false
            )
        }
    }

    /// Has a match's channels made before their time: phones that can listen on them are to be started with them.
    package func makeChannelsForStart(
        of pass: StartPass,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE channels SET next_at = now(), attempts = 1
            WHERE tenant_id = $1 AND match_id = $2 AND environment = $3 AND state = 'pending' AND creating_at IS NULL
              AND attempts = 0 AND next_at > now()
            """,
            pass.key,
            by: deadline
        )
    }

    /// Records a page of starts, each device once over all its topics, before any of them is sent.
    ///
    /// First those that wait by themselves, then those behind the pass's cursor, which moves in the same transaction over at most
    /// `scanLimit` devices: a page may be empty and not the last.
    /// - Returns: Those to be sent, and whether the pass has come to its end; nil: the claim is lost, or the match takes no
    ///   starts any more.
    package func recordStarts(
        of pass: StartPass,
        limit: Int,
        scanLimit: Int = 10_000,
        lease: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> (starts: [RecordedStart], isAtEnd: Bool)? {
        let results = try await pipeline(
            [
                PGStatement(
                    """
                    UPDATE start_passes p SET due_at = now() + make_interval(secs => $5), state = 'running'
                    FROM matches m
                    WHERE p.tenant_id = $1 AND p.match_id = $2 AND p.environment = $3 AND p.lease_owner = $4
                      AND p.due_at IS NOT NULL AND p.start_until > now()
                      AND (m.tenant_id, m.match_id) = (p.tenant_id, p.match_id) AND m.deleted_at IS NULL
                      AND m.end_requested_at IS NULL AND m.end_version IS NULL AND m.status IN ('scheduled', 'live')
                    """,
                    pass.key + [.text(pass.lease), .seconds(lease)]
                ),
                PGStatement(
                    """
                    WITH pass AS (
                        SELECT p.cursor, m.bundle, m.topics || ('match:' || m.match_id) AS topics
                        FROM start_passes p JOIN matches m ON (m.tenant_id, m.match_id) = (p.tenant_id, p.match_id)
                        WHERE p.tenant_id = $1 AND p.match_id = $2 AND p.environment = $3 AND p.lease_owner = $4
                          AND p.state = 'running' AND p.due_at IS NOT NULL AND p.start_until > now()
                          AND m.deleted_at IS NULL AND m.end_requested_at IS NULL AND m.end_version IS NULL
                          AND m.status IN ('scheduled', 'live')
                    ), scan AS MATERIALIZED (
                        -- Along the primary key, so many rows at most, whoever follows: a page costs the same in a large tenant.
                        SELECT d.device, d.bundle, d.environment, d.topics, d.push_to_start_token, d.refused_reason, d.showing
                        FROM devices d WHERE d.tenant_id = $1 AND d.device > (SELECT cursor FROM pass)
                        ORDER BY d.device LIMIT $6
                    ), page AS MATERIALIZED (
                        SELECT d.device, d.push_to_start_token IS NOT NULL AND d.refused_reason IS NULL
                            AND NOT $2 = ANY (d.showing) AND NOT EXISTS (
                                SELECT FROM activities a WHERE a.tenant_id = $1 AND a.match_id = $2
                                  AND a.device = d.device) AS wants
                        FROM pass, scan d
                        WHERE d.bundle = pass.bundle AND d.environment = $3 AND d.topics && pass.topics
                        ORDER BY d.device LIMIT $5
                    ), seen AS (
                        SELECT count(*) < $5 AS is_through FROM page
                    ), moved AS (
                        UPDATE start_passes p
                        SET cursor = CASE WHEN is_through THEN (SELECT max(device) FROM scan)
                                     ELSE (SELECT max(device) FROM page) END
                        FROM seen
                        WHERE p.tenant_id = $1 AND p.match_id = $2 AND p.environment = $3
                          AND EXISTS (SELECT FROM scan)
                    ), fresh AS (
                        INSERT INTO starts (tenant_id, match_id, device, environment, state, sender, attempts)
                        SELECT $1, $2, device, $3, 'sending', $4, 1 FROM page WHERE wants
                        ON CONFLICT DO NOTHING RETURNING device, attempts
                    ), waiting AS (
                        UPDATE starts s SET state = 'sending', sender = $4, attempts = s.attempts + 1, due_at = NULL
                        WHERE EXISTS (SELECT FROM pass) AND (s.tenant_id, s.match_id, s.device) IN (
                            SELECT w.tenant_id, w.match_id, w.device FROM starts w
                            WHERE w.tenant_id = $1 AND w.match_id = $2 AND w.environment = $3 AND w.state = 'waiting'
                              AND w.due_at <= now() LIMIT $5)
                        RETURNING s.device, s.attempts
                    ), taken AS (SELECT * FROM fresh UNION ALL SELECT * FROM waiting)
                    SELECT t.device, d.push_to_start_token, d.supports_channels, d.frequent, t.attempts,
                           (SELECT is_through FROM seen) AND (SELECT count(*) FROM scan) < $6, coalesce(c.has_card, true)
                    FROM (SELECT 1) one LEFT JOIN taken t ON true
                    LEFT JOIN LATERAL (
                        SELECT $2 = ANY (d.showing) OR EXISTS (SELECT FROM activities a WHERE a.tenant_id = $1
                            AND a.match_id = $2 AND a.device = d.device) AS has_card
                        FROM devices d WHERE d.tenant_id = $1 AND d.device = t.device) c ON true
                    LEFT JOIN devices d ON d.tenant_id = $1 AND d.device = t.device AND NOT c.has_card
                      AND d.push_to_start_token IS NOT NULL AND d.refused_reason IS NULL
                    """,
                    pass.key + [.text(pass.lease), .int(limit), .int(scanLimit)]
                ),
            ],
            by: deadline
        )
        guard results[0].affectedRows == 1, let first = results[1].first else { return nil }
        var starts: [RecordedStart] = []
        var unwanted: [StartResult] = []
        for row in results[1] where !row.isNull(0) {
            guard !row.isNull(1) else {
                // A device without a token may name one yet.
                let hasCard = row.bool(6)
                unwanted.append(
                    hasCard
                        ? StartResult(row.wrapped(0), nil, .givenUp, reason: "not wanted any more")
                        : StartResult(row.wrapped(0), nil, .refused, reason: "the device has no token that APNs takes")
                )
                continue
            }
            starts.append(
                RecordedStart(
                    device: row.wrapped(0),
                    token: row.wrapped(1),
                    supportsChannels: row.bool(2),
                    allowsFrequentUpdates: row.bool(3),
                    attempts: Int(row.int(4))
                )
            )
        }
        if !unwanted.isEmpty { try await settleStarts(unwanted, of: pass, by: deadline) }
        return (starts, first.bool(5) && results[1].count <= limit)
    }

    /// Writes down what became of starts. A token that APNs refuses is set aside until the device names another.
    ///
    /// A device may have named it while the push was under way: it is started with that one. The row is locked before the
    /// device is read again, so that either this sees the new token, or ``putDevices(_:tenant:mustExist:by:)`` the refusal.
    package func settleStarts(
        _ results: [StartResult],
        of pass: StartPass,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        let refused = results.filter { $0.state == .refused }
        _ = try await pipeline(
            [
                PGStatement(
                    """
                    UPDATE starts s SET state = r.state, reason = r.reason,
                        due_at = CASE WHEN r.state = 'waiting' THEN now() + make_interval(secs => r.delay) END
                    FROM unnest($4::text[], $5::text[], $6::text[], $7::bigint[]) AS r (device, state, reason, delay)
                    WHERE s.tenant_id = $1 AND s.match_id = $2 AND s.environment = $3 AND s.device = r.device
                      AND s.state = 'sending'
                    """,
                    pass.key + [
                        .textArray(results.map(\.device.text)), .textArray(results.map(\.state.rawValue)),
                        .textArray(results.map(\.reason)),
                        .int8Array(results.map { $0.delay.map { max(1, $0.components.seconds) } }),
                    ]
                ),
                PGStatement(
                    """
                    UPDATE devices d SET refused_reason = r.reason
                    FROM unnest($2::text[], $3::text[], $4::text[]) AS r (device, reason, token)
                    WHERE d.tenant_id = $1 AND d.device = r.device AND d.push_to_start_token = r.token
                    """,
                    [
                        .text(pass.match.tenant), .textArray(refused.map(\.device.text)),
                        .textArray(refused.map { $0.reason ?? "refused" }), .textArray(refused.map(\.token?.text)),
                    ]
                ),
                PGStatement(
                    """
                    UPDATE starts s SET state = 'waiting', reason = NULL, due_at = now() FROM devices d
                    WHERE s.tenant_id = $1 AND s.match_id = $2 AND s.environment = $3 AND s.device = ANY ($4)
                      AND s.state = 'refused' AND d.tenant_id = $1 AND d.device = s.device
                      AND d.push_to_start_token IS NOT NULL AND d.refused_reason IS NULL
                    """,
                    pass.key + [.textArray(refused.map(\.device.text))]
                ),
            ],
            by: deadline
        )
    }

    /// Gives a pass back: at its end it is looked at again when a start waits; over and done after `start_until`.
    package func releaseStartPass(
        _ pass: StartPass,
        isDone: Bool,
        after delay: Duration,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            """
            UPDATE start_passes p SET lease_owner = NULL,
                state = CASE WHEN o.is_over THEN CASE WHEN p.state = 'done' THEN 'done' ELSE 'cancelled' END
                             WHEN $5 THEN 'done' ELSE p.state END,
                due_at = CASE WHEN o.is_over THEN NULL
                    WHEN $5 THEN (SELECT min(s.due_at) FROM starts s WHERE s.tenant_id = $1 AND s.match_id = $2
                        AND s.environment = $3 AND s.state = 'waiting')
                    ELSE now() + make_interval(secs => $6) END
            FROM (SELECT NOT EXISTS (
                SELECT FROM matches m JOIN start_passes q ON (q.tenant_id, q.match_id) = (m.tenant_id, m.match_id)
                WHERE m.tenant_id = $1 AND m.match_id = $2 AND q.environment = $3 AND q.start_until > now()
                  AND m.deleted_at IS NULL AND m.end_requested_at IS NULL AND m.end_version IS NULL
                  AND m.status IN ('scheduled', 'live')) AS is_over) o
            WHERE p.tenant_id = $1 AND p.match_id = $2 AND p.environment = $3 AND p.lease_owner = $4
            """,
            pass.key + [.text(pass.lease), .bool(isDone), .seconds(delay)],
            by: deadline
        )
    }

    /// Forgets what became of starts a week ago, and their passes, a bounded number at a time.
    package func pruneStarts(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await pipeline(
            [
                PGStatement(
                    """
                    DELETE FROM starts WHERE ctid = ANY (ARRAY(
                        SELECT s.ctid FROM start_passes p JOIN starts s USING (tenant_id, match_id, environment)
                        WHERE p.due_at IS NULL AND p.start_until < now() - interval '7 days' LIMIT 20000))
                    """
                ),
                PGStatement(
                    """
                    DELETE FROM start_passes p WHERE p.due_at IS NULL AND p.start_until < now() - interval '7 days'
                      AND NOT EXISTS (SELECT FROM starts s WHERE (s.tenant_id, s.match_id) = (p.tenant_id, p.match_id))
                    """
                ),
            ],
            by: deadline
        )
    }

    /// Phones that start on a channel which keeps nothing get the newest state once more.
    package func resendAfterStarts(
        of match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        _ = try await query(
            "SELECT touchline_plan_resend($1, $2, clock_timestamp() + interval '30 seconds')",
            match.parameters,
            by: deadline
        )
    }
}
