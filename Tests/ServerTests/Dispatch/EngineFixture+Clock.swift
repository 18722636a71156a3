import Core
import PostgreSQL
import Store
import TestSupport
import Testing

extension EngineFixture {
    /// Sets the database's clock back, or ahead where `time` is negative: seen from the clock, all that was written down
    /// is that much later.
    func setClockBack(_ time: String) async throws {
        try await store.setClockBack(time)
    }
}

extension Store {
    func setClockBack(_ time: String) async throws {
        let columns = try await owner(
            by: .patient,
            """
            SELECT c.table_name, string_agg(format('%1$I = %1$I + interval ''\(time)''', c.column_name), ', ')
            FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
            WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
              AND c.data_type = 'timestamp with time zone' AND c.table_name NOT LIKE '%migration%'
            GROUP BY 1
            """
        )
        #expect(columns.count > 15)
        let seconds = "extract(epoch FROM interval '\(time)')::bigint"
        _ = try await owner(
            by: .patient,
            columns.map { PGStatement("UPDATE \($0.text(0)) SET \($0.text(1))") } + [
                PGStatement("UPDATE matches SET last_stamp = last_stamp + \(seconds) WHERE last_stamp > 0"),
                PGStatement(
                    """
                    UPDATE targets SET routine_at = routine_at + 1000 * \(seconds),
                        urgent_at = ARRAY(SELECT u + 1000 * \(seconds) FROM unnest(urgent_at) u)
                    """
                ),
            ]
        )
    }
}
