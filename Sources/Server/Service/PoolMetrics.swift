internal import APNs

/// What the sender pool has done and has in hand, as Prometheus reads it.
struct PoolMetrics {
    let counts: PoolCounts
    /// Of a lane's pushes: from handing in until a connection has it, or its bytes are written.
    var routineQueueTimes: [LatencyHistogram] = []
    var urgentQueueTimes: [LatencyHistogram] = []
    var answerTimes: [LatencyHistogram] = []
    var pushTimes: [LatencyHistogram] = []

    init(_ pool: SenderPool) {
        counts = pool.counts
        routineQueueTimes = pool.queueTimes
        urgentQueueTimes = pool.urgentQueueTimes
        answerTimes = pool.answerTimes
        pushTimes = pool.latencies
    }

    init(_ counts: PoolCounts) { self.counts = counts }

    var lines: [String] { pushLines + connectionLines + timeLines }

    private var pushLines: [String] {
        MetricsText.family(
            "touchline_pushes_total",
            "counter",
            "Pushes to APNs that have ended, by outcome.",
            "outcome",
            [
                ("accepted", counts.accepted), ("refused", counts.other), ("unknown", counts.unknown),
                ("not_processed", counts.notProcessed),
            ]
        )
            + MetricsText.family(
                "touchline_pushes_refused_total",
                "counter",
                "Pushes that APNs has refused, by its reason.",
                "reason",
                counts.refused.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            )
            + MetricsText.family(
                "touchline_pushes_unknown_total",
                "counter",
                "Pushes that may have arrived, by what came between.",
                "cause",
                UnknownCause.allCases.map { ($0.rawValue, counts.unknownBy[$0] ?? 0) }
            )
            + MetricsText.family(
                "touchline_pushes_not_processed_total",
                "counter",
                "Pushes that were not sent, or not taken up, by cause.",
                "cause",
                NotProcessedCause.allCases.map { ($0.rawValue, counts.notProcessedBy[$0] ?? 0) }
            )
            + MetricsText.family(
                "touchline_pushes_resent_total",
                "counter",
                "Requests beyond the first of a push, by cause.",
                "cause",
                ResendCause.allCases.map { ($0.rawValue, counts.resentBy[$0] ?? 0) }
            )
            + MetricsText.family(
                "touchline_pushes",
                "gauge",
                "Pushes in hand: before the queue, in it, and sent without an answer yet.",
                "state",
                [
                    ("outside", counts.outside), ("waiting_urgent", counts.waitingUrgent),
                    ("waiting_routine", counts.waitingRoutine), ("in_flight", counts.inFlight),
                ]
            )
    }

    private var connectionLines: [String] {
        [
            "# HELP touchline_apns_connections Connections to APNs that are open.",
            "# TYPE touchline_apns_connections gauge",
            "touchline_apns_connections \(counts.connections)",
            "# HELP touchline_apns_connections_opened_total Connections to APNs whose socket was opened.",
            "# TYPE touchline_apns_connections_opened_total counter",
            "touchline_apns_connections_opened_total \(counts.connectionsOpened)",
        ]
            + MetricsText.family(
                "touchline_apns_connections_closed_total",
                "counter",
                "Connections to APNs that have ended, and attempts that failed, by cause.",
                "cause",
                ConnectionEnd.allCases.map { ($0.rawValue, counts.connectionsClosed[$0] ?? 0) }
            )
    }

    private var timeLines: [String] {
        MetricsText.head(
            "touchline_push_queue_seconds",
            "histogram",
            "From handing a push in until a connection has it; of urgent ones, until its bytes were written."
        )
            + MetricsText.histogram("touchline_push_queue_seconds", "urgency=\"routine\"", routineQueueTimes)
            + MetricsText.histogram("touchline_push_queue_seconds", "urgency=\"urgent\"", urgentQueueTimes)
            + MetricsText.head("touchline_push_answer_seconds", "histogram", "From sending a push to its answer.")
            + MetricsText.histogram("touchline_push_answer_seconds", "", answerTimes)
            + MetricsText.head("touchline_push_seconds", "histogram", "From the moment a push was due to its outcome.")
            + MetricsText.histogram("touchline_push_seconds", "", pushTimes)
    }
}
