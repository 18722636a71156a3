internal import APNs
internal import Core
internal import Store

/// How far dispatching is behind, and how soon it follows events, as Prometheus reads it.
struct EngineMetrics {
    /// Of all processes; nil: PostgreSQL does not answer.
    let backlog: Backlog?
    /// Of this process; nil: it does not dispatch.
    let times: EventTimes?
    /// Versions whose counts did not add up when they were last looked at; nil: not looked at by this process.
    let sumsOff: Int?
    /// The age of the oldest version that something due lacks, of all processes; nil: PostgreSQL does not answer.
    var oldestDue: Duration?

    var lines: [String] { backlogLines + oldestLines + timeLines + sumLines }

    private var oldestLines: [String] {
        guard let oldestDue else { return [] }
        return gauge(
            "touchline_oldest_due_seconds",
            "Since when the match that is behind the longest lacks a version, retries included, of all processes; 0: none is.",
            "\(Double(oldestDue.wholeMilliseconds) / 1_000)"
        )
    }

    private var backlogLines: [String] {
        guard let backlog else { return [] }
        return MetricsText.family(
            "touchline_targets",
            "gauge",
            "Channels and shards behind their match, of all processes: due, being sent to, waiting for their time.",
            "state",
            [("due", backlog.due), ("sending", backlog.sending), ("waiting", backlog.waiting)]
        )
            + gauge(
                "touchline_due_age_seconds",
                "How long the target has been due that is due the longest.",
                "\(Double(backlog.oldestDueMilliseconds) / 1_000)"
            )
            + MetricsText.family(
                "touchline_stragglers",
                "gauge",
                "Phones that get a push of their own, of all processes: due, and waiting for their time.",
                "state",
                [("due", backlog.stragglersDue), ("waiting", backlog.stragglersWaiting)]
            )
    }

    private var timeLines: [String] {
        guard let times else { return [] }
        let families = [
            (
                "touchline_event_first_push_seconds", "From an event's acceptance to its first push, by target.",
                times.first
            ),
            (
                "touchline_event_last_push_seconds", "From an event's acceptance to its last push, by target.",
                times.last
            ),
        ]
        return families.flatMap { name, help, histograms in
            MetricsText.head(name, "histogram", help)
                + histograms.sorted { $0.key < $1.key }.flatMap { label, histogram in
                    MetricsText.histogram(name, label, [histogram])
                }
        }
    }

    private var sumLines: [String] {
        guard let sumsOff else { return [] }
        return gauge(
            "touchline_versions_off",
            "Versions whose counts do not add up: always 0, unless there is a fault in Touchline.",
            "\(sumsOff)"
        )
    }

    private func gauge(_ name: String, _ help: String, _ value: String) -> [String] {
        MetricsText.head(name, "gauge", help) + ["\(name) \(value)"]
    }
}
