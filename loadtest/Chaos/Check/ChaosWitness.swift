internal import Executables
internal import PostgreSQL

/// Reads the evidence: the database and the simulator, once everything has settled.
struct ChaosWitness: Sendable {
    let stage: ChaosStage

    /// What is not done yet, a line each: nothing once everything has settled.
    func unsettled() async throws(Failure) -> [String] {
        try await stage.cluster.rows(
            """
            SELECT format('%s %s of %s is at version %s of %s', t.kind, t.cadence, t.match_id, t.reached_version,
                          m.version)
            FROM targets t JOIN matches m USING (tenant_id, match_id)
            WHERE t.reached_version < m.version AND (t.kind = 'channel' OR EXISTS (
                SELECT FROM activities a WHERE (a.tenant_id, a.match_id, a.environment, a.cadence)
                    = (t.tenant_id, t.match_id, t.environment, t.cadence) AND a.refused_reason IS NULL))
            UNION ALL
            SELECT format('%s of %s waits for version %s until %s', s.activity, s.match_id, s.version, s.due_at)
            FROM stragglers s
            UNION ALL
            SELECT format('%s of %s is to be started: %s', s.device, s.match_id, s.state) FROM starts s
            WHERE s.state IN ('waiting', 'sending')
            UNION ALL
            SELECT format('the starts of %s are %s', p.match_id, p.state) FROM start_passes p
            WHERE p.state IN ('waiting', 'running')
            UNION ALL
            SELECT format('%s has not ended', m.match_id) FROM matches m
            WHERE m.end_requested_at IS NOT NULL AND m.end_version IS NULL
            UNION ALL
            SELECT format('%s is sent once more at %s', m.match_id, m.resend_at) FROM matches m
            WHERE m.resend_at IS NOT NULL AND m.end_version IS NULL
            UNION ALL
            SELECT format('the channel of %s is %s: %s', c.match_id, c.state, c.last_error) FROM channels c
            WHERE c.state = 'pending'
            """
        ) { $0.text(0) }
    }

    /// From each version's acceptance to the last push of each turn that brought it.
    func latencies() async throws(Failure) -> LatencyFigures {
        let histogram = SharedHistogram()
        let rows = try await stage.cluster.rows(
            """
            SELECT (extract(epoch FROM last_push_at - accepted_at) * 1000)::bigint FROM turns
            WHERE last_push_at >= accepted_at AND kind <> 'stragglers'
            """
        ) { $0.int(0) }
        for milliseconds in rows { histogram.record(.milliseconds(milliseconds)) }
        return histogram.figures
    }

    /// Pushes that services sent again since it was unknown whether they had arrived.
    func resent() async throws(Failure) -> Int {
        let rows = try await stage.cluster.rows("SELECT coalesce(sum(resent), 0)::bigint FROM turns") { $0.int(0) }
        return Int(rows.first ?? 0)
    }

    func evidence() async throws(Failure) -> ChaosEvidence {
        var evidence = ChaosEvidence()
        evidence.sumsOff = try await stage.cluster.rows(
            "SELECT format('%s %s %s %s: %s', match_id, kind, cadence, version, what) FROM touchline_sums_off(20)"
        ) { $0.text(0) }
        try await readMatches(&evidence)
        try await readPhones(&evidence)
        try await readRepeats(&evidence)
        return evidence
    }

    private func readMatches(_ evidence: inout ChaosEvidence) async throws(Failure) {
        let matches = try await stage.cluster.rows(
            """
            SELECT match_id, version, CASE WHEN stamped_version = version THEN last_stamp END, end_version IS NOT NULL,
                   end_resends > 0
            FROM matches
            """
        ) { row in
            let stamp = row.optionalInt(2).map { Int($0) }
            return (
                row.text(0),
                ChaosEvidence.StoredMatch(
                    version: Int(row.int(1)),
                    stamp: stamp,
                    hasEnded: row.bool(3),
                    isEndRepeated: row.bool(4)
                )
            )
        }
        evidence.matches = Dictionary(matches) { $1 }
        let events = try await stage.cluster.rows(
            "SELECT match_id, event_id, kind, status, version, coalesce(sequence, 0) FROM events"
        ) { row in
            let event = ChaosEvidence.StoredEvent(
                kind: row.text(2),
                status: row.text(3),
                version: Int(row.int(4)),
                sequence: Int(row.int(5))
            )
            return (row.text(0), row.text(1), event)
        }
        for (match, id, event) in events { evidence.matches[match]?.events[id] = event }
        let starts = try await stage.cluster.rows("SELECT match_id, device, state FROM starts") { row in
            (row.text(0), row.text(1), row.text(2))
        }
        for (match, device, state) in starts { evidence.matches[match]?.starts[device] = state }
    }

    private struct PhonePage: Decodable {
        let phones: [ChaosEvidence.PhoneSight]
        let next: Int?
    }

    private func readPhones(_ evidence: inout ChaosEvidence) async throws(Failure) {
        var after: Int? = 0
        while let start = after {
            let page: PhonePage = try await stage.simulator.api.send(
                "GET",
                "/_sim/phones?limit=5000&after=\(start)"
            ).decode()
            for sight in page.phones {
                if let token = sight.token { evidence.phones[token] = sight }
                if let channel = sight.channel { evidence.groups[channel, default: []].append(sight) }
            }
            after = page.next
        }
    }

    private struct RepeatPage: Decodable {
        let repeats: [ChaosEvidence.RepeatSight]
        let count: Int
        let next: Int?
    }

    private func readRepeats(_ evidence: inout ChaosEvidence) async throws(Failure) {
        var after: Int? = 0
        var count = 0
        while let start = after {
            let page: RepeatPage = try await stage.simulator.api.send(
                "GET",
                "/_sim/repeats?limit=5000&after=\(start)"
            ).decode()
            evidence.repeats += page.repeats
            count = page.count
            after = page.next
        }
        evidence.repeatsForgotten = max(0, count - evidence.repeats.count)
    }
}
