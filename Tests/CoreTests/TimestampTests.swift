import Core
import Testing

@Suite("Moments as RFC 3339")
struct TimestampTests {
    @Test(
        "are read with any offset and fraction",
        arguments: [
            ("2026-07-19T20:46:03Z", 1_784_493_963_000_000), ("2026-07-19t20:46:03z", 1_784_493_963_000_000),
            ("2026-07-19T22:46:03+02:00", 1_784_493_963_000_000), ("2026-07-19T20:46:03.25Z", 1_784_493_963_250_000),
            ("2026-07-19T20:46:03.123456789Z", 1_784_493_963_123_456), ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.5Z", -500_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
            ("2024-02-29T00:00:00-00:30", 1_709_166_600_000_000),
        ] as [(String, Int64)]
    )
    func reads(text: String, microseconds: Int64) {
        #expect(Timestamp(text)?.microseconds == microseconds)
    }

    @Test(
        "nothing else is",
        arguments: [
            "", "2026-07-19", "2026-07-19T20:46:03", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
            "2026-07-19T24:00:00Z", "2026-07-19T20:46:03.Z", "2026-07-19T20:46:03+0200", "1784493963",
            "2026-07-19T20:46:03Z ", "0000-01-01T00:00:00Z", "２026-07-19T20:46:03Z",
        ]
    )
    func refuses(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test("are written in UTC, and read back alike")
    func writes() {
        #expect(Timestamp(seconds: 1_784_493_963).description == "2026-07-19T20:46:03Z")
        #expect(Timestamp(microseconds: -500_000).description == "1969-12-31T23:59:59.5Z")
        for microseconds in stride(
            from: Int64(-62_000_000_000_000_000),
            to: 250_000_000_000_000_000,
            by: 7_777_777_777_777_777
        ) {
            let moment = Timestamp(microseconds: microseconds)
            #expect(Timestamp(moment.description) == moment)
        }
    }
}
