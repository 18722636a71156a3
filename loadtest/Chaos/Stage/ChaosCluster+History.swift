internal import Executables
internal import PostgreSQL

// What became of each row, for whoever has to find out why a phone was missed.
extension ChaosCluster {
    /// From now on every change of what is to be sent, and to whom, is kept in `chaos_history`.
    func keepHistory() async throws(Failure) {
        _ = try await rows(
            """
            CREATE TABLE chaos_history (at timestamptz, xid xid8, tablename text, op text, row jsonb)
            """
        ) { _ in }
        _ = try await rows(
            """
            CREATE FUNCTION chaos_note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                INSERT INTO chaos_history VALUES (clock_timestamp(), pg_current_xact_id(), TG_TABLE_NAME, TG_OP,
                    CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END);
                RETURN NULL;
            END $$
            """
        ) { _ in }
        for table in ["activities", "stragglers", "targets", "matches", "events", "turns", "starts"] {
            _ = try await rows(
                """
                CREATE TRIGGER chaos_note AFTER INSERT OR UPDATE OR DELETE ON \(table)
                FOR EACH ROW EXECUTE FUNCTION chaos_note()
                """
            ) { _ in }
        }
    }

    /// What was kept, a line of JSON each, in order.
    func history() async throws(Failure) -> [String] {
        try await rows(
            """
            SELECT jsonb_build_object('at', extract(epoch FROM at), 'xid', xid::text, 'table', tablename, 'op', op, 'row', row)::text
            FROM chaos_history ORDER BY at
            """
        ) { $0.text(0) }
    }
}
