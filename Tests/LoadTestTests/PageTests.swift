import APNs
import Foundation
import Testing

@testable import loadtest

@Suite("A report's page")
struct PageTests {
    private func report() -> Report {
        let histogram = LatencyHistogram()
        for step in 1...2000 { histogram.record(.microseconds(step * 100)) }
        var report = Report(test: "pool", command: "loadtest pool --json '<&>'")
        report.pushes = 2000
        report.accepted = 1990
        report.outcomes = ["accepted": 1990, "unknown": 10]
        report.seconds = 2
        report.pushes_per_second = 1000
        report.latency_us = LatencyFigures([histogram])
        report.samples = (1...20).map { step in
            .init(
                at: Double(step) / 10,
                per_second: 1000,
                in_flight: step,
                waiting: 5,
                connections: 1,
                rss_bytes: 1 << 24
            )
        }
        report.sums = [.init(what: "accepted", ours: 1990, theirs: 1990, isRight: true)]
        return report
    }

    @Test("stands by itself: no script, nothing loaded, well-formed")
    func standsAlone() throws {
        let html = ReportPage(report: report()).html
        for stranger in ["<script", "http://", "https://", "src=", "url(", "@import"] {
            #expect(!html.contains(stranger))
        }
        // All but the first line and the style, whose tags are HTML's own, must be well-formed.
        let body =
            try #require(html.range(of: "<main>")).lowerBound..<(try #require(html.range(of: "</main>"))).upperBound
        let text = String(html[body]).replacing("<br>", with: "<br/>")
        #expect(text.contains("&lt;&amp;&gt;"))
        let parser = XMLWellFormed()
        #expect(parser.check(text), "\(parser.complaint)")
    }

    @Test("says in words and colour when a sum is wrong")
    func saysWrong() {
        var report = report()
        #expect(ReportPage(report: report).html.contains("every push accounted for"))
        report.complaints = ["3 pushes lost"]
        let html = ReportPage(report: report).html
        #expect(html.contains("the sums are wrong"))
        #expect(html.contains("3 pushes lost"))
    }

    @Test("has axes that people count in")
    func countsWell() {
        #expect(Axis.linear(to: 215_000) { $0.scaled }.ticks.map(\.label) == ["0", "100 k", "200 k", "300 k"])
        #expect(Axis.linear(to: 0) { $0.scaled }.ticks.count > 1)
        #expect(Axis.shares(nines: 3).place(0.9) > 0.33 && Axis.shares(nines: 3).place(0.9) < 0.34)
        #expect(
            Axis.logarithmic(from: 10, to: 1000) { $0.shortest }.ticks.map(\.label) == [
                "10", "20", "50", "100", "200", "500", "1000",
            ]
        )
        #expect(Axis.time(to: 1.7).ticks.map(\.label) == ["0 s", "0.5 s", "1 s", "1.5 s"])
    }
}

/// Whether every tag is closed in its order; attributes are not looked at.
private final class XMLWellFormed {
    private(set) var complaint = ""

    func check(_ text: String) -> Bool {
        var open: [Substring] = []
        for tag in text.matches(of: /<(\/?)([a-z0-9]+)[^>]*?(\/?)>/) {
            if !tag.output.3.isEmpty { continue }
            if tag.output.1.isEmpty {
                open.append(tag.output.2)
            } else if open.popLast() != tag.output.2 {
                complaint = "</\(tag.output.2)> closes another"
                return false
            }
        }
        complaint = "open: \(open)"
        return open.isEmpty
    }
}
