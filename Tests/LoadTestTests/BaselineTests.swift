import Testing

@testable import loadtest

@Suite("A baseline")
struct BaselineTests {
    private func side(_ cpu: Double, _ rate: Double) -> BaselineFigures.Side {
        .init(cpu_us_per_push: cpu, pushes_per_second: rate, seconds: 1, peak_rss_bytes: 1, sink_busy: 0.5)
    }

    @Test("is compared by medians, ours divided by the other's, with the rounds' spread")
    func compares() {
        let figures = BaselineFigures(
            tool: "h2load",
            version: "h2load nghttp2/1.52.0",
            command: "h2load",
            rounds: [
                .init(ours: side(1, 200), theirs: side(2, 100)), .init(ours: side(3, 300), theirs: side(4, 100)),
                .init(ours: side(9, 400), theirs: side(6, 100)),
            ],
            notes: []
        )
        #expect(figures.cpu_ratio == 0.75)
        #expect(figures.throughput_ratio == 3)
        #expect((figures.cpu_ratio_spread.least, figures.cpu_ratio_spread.greatest) == (0.5, 1.5))
    }

    @Test("has h2load's figures read from what it prints")
    func readsH2Load() throws {
        let output = """
            finished in 904.40ms, 221140.84 req/s, 2.14MB/s
            requests: 200000 total, 200000 started, 200000 done, 200000 succeeded, 0 failed, 0 errored, 0 timeout
            status codes: 199998 2xx, 0 3xx, 2 4xx, 0 5xx
            """
        let result = try #require(H2Load.parse(output))
        #expect(result.pushesPerSecond == 221140.84)
        #expect(result.succeeded == 199_998)
        #expect(abs(result.seconds - 0.9044) < 1e-9)
        #expect(H2Load.parse("Could not connect") == nil)
    }
}
