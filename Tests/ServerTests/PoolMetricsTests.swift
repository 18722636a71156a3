import Testing

@testable import APNs
@testable import Server

@Suite("The sender pool's metrics")
struct PoolMetricsTests {
    private func metrics() -> PoolMetrics {
        var counts = PoolCounts()
        counts.accepted = 990
        counts.refused = ["BadDeviceToken": 3, "other": 1]
        counts.unknownBy = [.reset: 2]
        counts.notProcessedBy = [.deadline: 4]
        counts.resentBy = [.goAway: 7]
        counts.connectionsOpened = 5
        counts.connectionsClosed = [.goAway: 2, .silence: 1]
        counts.waitingUrgent = 1
        var metrics = PoolMetrics(counts)
        let answers = [LatencyHistogram(), LatencyHistogram()]
        for milliseconds in [1, 3, 40, 40, 700, 90_000] {
            answers[milliseconds % 2].record(.milliseconds(milliseconds))
        }
        metrics.answerTimes = answers
        return metrics
    }

    @Test(
        "tell each count under its name and label",
        arguments: [
            #"touchline_pushes_total{outcome="accepted"} 990"#, #"touchline_pushes_total{outcome="refused"} 4"#,
            #"touchline_pushes_refused_total{reason="BadDeviceToken"} 3"#,
            #"touchline_pushes_unknown_total{cause="stream_reset"} 2"#,
            #"touchline_pushes_unknown_total{cause="deadline"} 0"#,
            #"touchline_pushes_not_processed_total{cause="deadline"} 4"#,
            #"touchline_pushes_resent_total{cause="goaway"} 7"#, #"touchline_pushes{state="waiting_urgent"} 1"#,
            "touchline_apns_connections_opened_total 5",
            #"touchline_apns_connections_closed_total{cause="silence"} 1"#,
            #"touchline_push_answer_seconds_bucket{le="0.0025"} 1"#,
            #"touchline_push_answer_seconds_bucket{le="0.05"} 4"#, #"touchline_push_answer_seconds_bucket{le="60"} 5"#,
            #"touchline_push_answer_seconds_bucket{le="+Inf"} 6"#, "touchline_push_answer_seconds_count 6",
            "touchline_push_answer_seconds_sum 90.784",
            #"touchline_push_queue_seconds_count{urgency="urgent"} 0"#,
        ]
    )
    func tells(line: String) { #expect(metrics().lines.contains(line)) }

    @Test("have a help and a type for each family, just before its samples, and each sample once")
    func areWellFormed() throws {
        var family = ""
        var families: Set<String> = []
        var samples: Set<Substring> = []
        for line in metrics().lines {
            let words = line.split(separator: " ")
            if line.hasPrefix("# HELP ") {
                family = String(words[2])
                #expect(families.insert(family).inserted, "\(family) comes twice")
                #expect(line.hasSuffix("."))
            } else if line.hasPrefix("# TYPE ") {
                #expect(words[2] == family)
                #expect(family.hasSuffix("_total") == (words[3] == "counter"))
            } else {
                let value = try #require(words.last)
                #expect(Double(value) != nil)
                let name = line.prefix { $0 != "{" && $0 != " " }
                #expect([family, "\(family)_bucket", "\(family)_sum", "\(family)_count"].contains(String(name)))
                #expect(samples.insert(line.dropLast(value.count)).inserted, "\(line) comes twice")
            }
        }
    }

    @Test("the counts of a histogram's buckets rise, whatever it holds")
    func bucketsRise() {
        let histogram = LatencyHistogram()
        for microseconds in [0, 1, 999, 1000, 1001, 2499, 2500, 2600, 59_000_000, 61_000_000, 7_000_000_000] {
            histogram.record(.microseconds(microseconds))
        }
        let counts = LatencyHistogram.counts(upTo: [1000, 2500, 60_000_000], of: [histogram])
        // Buckets are a hundredth wide: what lies within that below a bound may count above it.
        #expect((3...4).contains(counts[0]))
        #expect((5...7).contains(counts[1]))
        #expect(counts[2] == 9)
        #expect(histogram.count == 11)
    }
}
