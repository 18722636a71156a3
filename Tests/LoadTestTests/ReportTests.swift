import APNs
import Executables
import Foundation
import Testing

@testable import loadtest

@Suite("A report")
struct ReportTests {
    @Test("has the names in its JSON that programs rely on")
    func hasNames() throws {
        let json = try JSONSerialization.jsonObject(with: Data(try Report(test: "pool", command: "x").json.utf8))
        let object = try #require(json as? [String: Any])
        let names = [
            "pushes", "accepted", "lost", "doubled", "reordered", "outcomes", "seconds", "pushes_per_second",
            "cpu_us_per_push", "peak_rss_bytes", "latency_us", "sink",
        ]
        for name in names { #expect(object[name] != nil, "\(name)") }
        let latency = try #require(object["latency_us"] as? [String: Any])
        for name in ["p50", "p90", "p99", "p999", "max"] { #expect(latency[name] is Int, "\(name)") }
    }

    @Test("is read again as it was written")
    func readsBack() throws {
        var report = Report(test: "pool", command: "loadtest pool")
        report.settings = ["rate": .number(5), "sink": .text("x")]
        let again = try Report(json: Array(try report.json.utf8))
        let (first, second) = (try report.json, try again.json)
        #expect(first == second)
        #expect(throws: Failure.self) { try Report(json: Array("{}".utf8)) }
    }

    @Test("has quantiles within 1 % of the truth, whatever the durations", arguments: [3, 40, 50_000, 9_000_000])
    func quantilesAreNear(scale: Int) {
        let histogram = LatencyHistogram()
        // Durations from 1 to 20 times the scale, each once, in microseconds.
        for step in 1...2000 { histogram.record(.microseconds(scale * step / 100)) }
        let figures = LatencyFigures([histogram])
        for (found, share) in [(figures.p50, 0.5), (figures.p90, 0.9), (figures.p99, 0.99), (figures.p999, 0.999)] {
            let exact = Double(scale * Int((2000 * share).rounded(.up)) / 100)
            #expect(Double(found) >= exact && Double(found) <= exact * 1.01 + 1, "\(share): \(found) for \(exact)")
        }
        #expect(figures.max == scale * 20)
    }

    @Test("counts what was late")
    func countsLate() {
        let histogram = LatencyHistogram()
        for milliseconds in [1, 10, 100, 1000, 10_000] { histogram.record(.milliseconds(milliseconds)) }
        #expect(LatencyHistogram.count(above: 500_000, of: [histogram]) == 2)
        #expect(LatencyHistogram.count(above: 20_000_000, of: [histogram]) == 0)
    }

    @Test("writes numbers as people read them")
    func writesNumbers() {
        #expect(1_234_567.grouped == "1,234,567")
        #expect((-1000).grouped == "-1,000")
        #expect(3.14159.text(2) == "3.14")
        #expect((-0.5).text(1) == "-0.5")
        #expect(0.04.text(1) == "0.0")
    }
}
