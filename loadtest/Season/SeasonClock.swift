internal import EventLoop
internal import Executables
import FoundationEssentials
internal import PostgreSQL

/// The season's time, which a run can set on while no service runs: by so much everything that PostgreSQL has written down is
/// longer ago, and what is to come nearer.
final class SeasonClock: Sendable {
    private let offset = ThreadLock(0.0)

    /// UNIX seconds, and what was skipped.
    var now: Double { real + offset.withLock { $0 } }

    /// UNIX seconds, whatever was skipped.
    var real: Double { Date.now.timeIntervalSince1970 }

    /// A moment of the season as the services' clock has it: RFC 3339.
    func text(_ moment: Double) -> String {
        let seconds = (moment - offset.withLock { $0 }).rounded()
        return Date(timeIntervalSince1970: seconds).formatted(.iso8601)
    }

    /// Returns at that moment of the season, or when the task is cancelled.
    func wait(until moment: Double) async {
        while !Task.isCancelled {
            let left = moment - now
            if left <= 0 { return }
            // The clock may be set on meanwhile.
            try? await Task.sleep(for: .seconds(min(left, 0.2)))
        }
    }

    /// Sets the clock on; no service may run.
    func skip(_ seconds: Int, in cluster: ChaosCluster) async throws(Failure) {
        guard seconds > 0 else { return }
        let columns = try await cluster.rows(
            """
            SELECT table_name, string_agg(format('%1$I = %1$I - interval ''\(seconds) seconds''', column_name), ', ')
            FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
            WHERE table_schema = 'public' AND data_type = 'timestamp with time zone' AND table_type = 'BASE TABLE'
              AND table_name IN ('matches', 'channels', 'channel_ids', 'channel_makers', 'targets', 'start_passes')
            GROUP BY 1
            """
        ) { "UPDATE \($0.text(0)) SET \($0.text(1))" }
        let script = "WITH \(columns.enumerated().map { "t\($0) AS (\($1))" }.joined(separator: ", ")) SELECT 1"
        _ = try await cluster.rows(script) { $0.int(0) }
        offset.withLock { $0 += Double(seconds) }
    }
}
