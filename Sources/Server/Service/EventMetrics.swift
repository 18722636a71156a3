/// What became of events, as Prometheus reads it.
struct EventMetrics {
    let counts: EventCounts

    init(_ counts: EventCounts) { self.counts = counts }

    var lines: [String] {
        MetricsText.family(
            "touchline_events_total",
            "counter",
            "Events that this process has answered, by what became of them.",
            "status",
            counts.values.map { ($0.0.rawValue, $0.1) }
        )
    }
}
