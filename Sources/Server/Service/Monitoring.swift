internal import APNs
internal import Core
internal import HTTP2
internal import HTTPServer
internal import Log
internal import PostgreSQL
internal import Store

/// What the listener of metrics answers: health for whatever roles the process has, and its gauges.
struct Monitoring: Sendable {
    let store: Store
    /// Nil in a process that sends nothing.
    let pool: SenderPool?
    /// Nil in a process that does not dispatch.
    let times: EventTimes?
    /// Nil in a process that does no housekeeping.
    let books: Books?
    /// Nil in a process without the API.
    let events: EventCounts?
    let output: LogOutput?

    var handler: HTTPHandler { { await answer($0) } }

    private func answer(_ request: HTTPRequest) async -> HTTPResponse {
        guard request.method == "GET" || request.method == "HEAD" else { return text(405, "only GET") }
        switch request.target.prefix(while: { $0 != "?" }) {
        case "/healthz": return text(200, "ok")
        case "/readyz":
            do throws(StoreError) {
                try await store.checkReadiness(by: .now + .seconds(2))
                return text(200, "ready")
            } catch {
                return text(503, error.description)
            }
        case "/metrics": return text(200, await metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
        default: return text(404, "there are /metrics, /healthz and /readyz")
        }
    }

    private func metrics() async -> String {
        var lines = [
            "# HELP touchline_database_reachable Whether PostgreSQL could be reached when that was last tried.",
            "# TYPE touchline_database_reachable gauge",
            "touchline_database_reachable \(store.database.isReachable ? 1 : 0)",
            "# HELP touchline_database_connections Connections to PostgreSQL, and callers who wait for one.",
            "# TYPE touchline_database_connections gauge",
        ]
        for (name, counts) in [("owner", store.database.counts), ("api", store.api.counts)] {
            for (state, count) in [("idle", counts.idle), ("leased", counts.leased), ("waiting", counts.waiting)] {
                lines.append("touchline_database_connections{pool=\"\(name)\",state=\"\(state)\"} \(count)")
            }
        }
        if let pool { lines += PoolMetrics(pool).lines }
        let backlog = try? await store.backlog(by: .now + .seconds(2))
        let behind = try? await store.behindMatches(for: .zero, limit: 1, by: .now + .seconds(2))
        let oldest = behind.map { found in found.matches.first.map { found.now - $0.since } ?? .zero }
        lines += EngineMetrics(backlog: backlog, times: times, sumsOff: books?.off, oldestDue: oldest).lines
        if let events { lines += EventMetrics(events).lines }
        if let output {
            lines +=
                MetricsText.head(
                    "touchline_log_lines_dropped_total",
                    "counter",
                    "Lines of the log that were dropped, since standard error was not read fast enough."
                ) + ["touchline_log_lines_dropped_total \(output.droppedLines)"]
        }
        return lines.joined(separator: "\n")
    }

    private func text(_ status: Int, _ body: String, type: String = "text/plain; charset=utf-8") -> HTTPResponse {
        HTTPResponse(status: status, fields: ["content-type": type], body: Array("\(body)\n".utf8))
    }
}
