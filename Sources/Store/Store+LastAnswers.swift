package import APNsProtocol
package import Core
internal import PostgreSQL

/// Of which targets an answer was: those of one kind of a match in one environment.
package struct AnswerKey: Hashable, Sendable {
    package let match: MatchKey
    package let kind: TargetKind
    package let environment: APNsEnvironment

    package init(match: MatchKey, kind: TargetKind, environment: APNsEnvironment) {
        self.match = match
        self.kind = kind
        self.environment = environment
    }

    /// In which every writer locks the rows.
    fileprivate var place: (String, String, String) { (match.match.text, kind.rawValue, environment.rawValue) }
}

extension TargetKey {
    /// Whose answers its own are counted among.
    package var answerKey: AnswerKey { AnswerKey(match: match, kind: kind, environment: environment) }
}

extension Store {
    /// Keeps the newest answers that were no acceptances, in a statement for each tenant.
    ///
    /// - Parameters:
    ///   - answers: In APNs' own words.
    ///   - deadline: For the round trip.
    /// - Throws: ``StoreError``.
    package func keep(
        lastAnswers answers: [AnswerKey: String],
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) {
        let tenants = Dictionary(grouping: answers) { $0.key.match.tenant }
        let statements = tenants.sorted { $0.key.text < $1.key.text }.map { tenant, answers in
            // In one order, so that processes that write the same rows wait for each other instead of deadlocking.
            let rows = answers.sorted { $0.key.place < $1.key.place }
            return PGStatement(
                """
                INSERT INTO last_answers (tenant_id, match_id, kind, environment, answer, answered_at)
                SELECT $1, d.match_id, d.kind, d.environment, d.answer, clock_timestamp()
                FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS d (match_id, kind, environment, answer)
                ON CONFLICT (tenant_id, match_id, kind, environment)
                DO UPDATE SET answer = excluded.answer, answered_at = excluded.answered_at
                """,
                [
                    .text(tenant.text), .textArray(rows.map(\.key.match.match.text)),
                    .textArray(rows.map(\.key.kind.rawValue)), .textArray(rows.map(\.key.environment.rawValue)),
                    .textArray(rows.map(\.value)),
                ]
            )
        }
        guard !statements.isEmpty else { return }
        _ = try await pipeline(statements, by: deadline)
    }

    /// Forgets answers older than two days.
    package func pruneLastAnswers(by deadline: ContinuousClock.Instant) async throws(StoreError) {
        _ = try await query(
            "DELETE FROM last_answers WHERE answered_at < now() - interval '48 hours'",
            by: deadline
        )
    }
}
