internal import APNs
internal import HTTP2
internal import HTTPServer
internal import PostgreSQL
internal import Store

/// What the listener of metrics answers: health for whatever roles the process has, and its gauges.
struct Monitoring: Sendable {
    let store: Store
    /// Nil in a process that sends nothing.
    let pushes: @Sendable () -> PoolCounts?

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
        case "/metrics": return text(200, metrics, type: "text/plain; version=0.0.4; charset=utf-8")
        default: return text(404, "there are /metrics, /healthz and /readyz")
        }
    }

    private var metrics: String {
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
        if let counts = pushes() { lines += Self.lines(counts) }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ counts: PoolCounts) -> [String] {
        let outcomes = [
            ("accepted", counts.accepted), ("refused", counts.other), ("unknown", counts.unknown),
            ("not_processed", counts.notProcessed),
        ]
        return [
            "# HELP touchline_pushes_total Pushes to APNs since the start, by outcome.",
            "# TYPE touchline_pushes_total counter",
        ] + outcomes.map { "touchline_pushes_total{outcome=\"\($0)\"} \($1)" } + [
            "# HELP touchline_pushes_resent_total Requests beyond the first of a push.",
            "# TYPE touchline_pushes_resent_total counter",
            "touchline_pushes_resent_total \(counts.resent)",
            "# HELP touchline_pushes Pushes that wait for a stream, and those that APNs has not answered yet.",
            "# TYPE touchline_pushes gauge",
            "touchline_pushes{state=\"waiting\"} \(counts.waiting)",
            "touchline_pushes{state=\"in_flight\"} \(counts.inFlight)",
            "# HELP touchline_apns_connections Connections to APNs that are open.",
            "# TYPE touchline_apns_connections gauge",
            "touchline_apns_connections \(counts.connections)",
            "# HELP touchline_apns_connections_failed_total Connections to APNs that could not be made or were lost.",
            "# TYPE touchline_apns_connections_failed_total counter",
            "touchline_apns_connections_failed_total \(counts.connectionsFailed)",
        ]
    }

    private func text(_ status: Int, _ body: String, type: String = "text/plain; charset=utf-8") -> HTTPResponse {
        HTTPResponse(status: status, fields: ["content-type": type], body: Array("\(body)\n".utf8))
    }
}
