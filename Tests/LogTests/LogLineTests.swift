import Foundation
import Log
import TestSupport
import Testing

@Suite("A line of the log")
struct LogLineTests {
    @Test("has time, level, subsystem and message, then its fields")
    func text() {
        let log = LogFixture()
        Logger(log.output, subsystem: "apns").warning(
            "connection ended",
            [
                "host": "localhost:2197", "cause": "refused", "streams": 3, "after_s": Duration.milliseconds(1_250),
                "tenant": nil,
            ]
        )
        Logger(log.output, subsystem: "service").info("stopped")
        #expect(
            log.lines() == [
                "2026-03-07T15:00:00.123Z warning apns: connection ended;"
                    + " host=localhost:2197 cause=refused streams=3 after_s=1.250",
                "2026-03-07T15:00:00.123Z info service: stopped",
            ]
        )
    }

    @Test("is one JSON object with the same, where programs read it")
    func json() throws {
        let log = LogFixture(.json)
        Logger(log.output, subsystem: "api").error(
            "answered 500",
            [
                "request_id": "r1", "status": 500, "is_new": true, "wait_s": Duration.seconds(2),
                "reason": "a \"b\"\n\u{1B}[2J",
            ]
        )
        let line = try #require(log.lines().first)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["time"] as? String == "2026-03-07T15:00:00.123Z")
        #expect(object["level"] as? String == "error")
        #expect(object["subsystem"] as? String == "api")
        #expect(object["message"] as? String == "answered 500")
        #expect(object["status"] as? Int == 500)
        #expect(object["is_new"] as? Bool == true)
        #expect(object["wait_s"] as? Double == 2)
        #expect(object["reason"] as? String == "a \"b\"\n\u{1B}[2J")
    }

    @Test(
        "stays one line and leaves the terminal alone, whatever a value holds",
        arguments: [
            ("two\nlines\r", #""two\nlines\r""#), ("\u{1B}]0;title\u{7}", #""\u001b]0;title\u0007""#),
            ("say \"x\" \\", #""say \"x\" \\""#), ("", #""""#), ("a=b", #""a=b""#), ("č", "č"),
            ("\u{202E}evil", #""\u202eevil""#), ("\u{2028}", #""\u2028""#), ("\u{9B}2J", #""\u009b2J""#),
            ("\u{E0041}", #""\udb40\udc41""#), ("nul\u{0}", #""nul\u0000""#),
        ]
    )
    func harmless(value: String, shown: String) {
        for format in LogFormat.allCases {
            let log = LogFixture(format)
            Logger(log.output, subsystem: "api").info("seen", ["match": value])
            let lines = log.lines()
            #expect(lines.count == 1)
            let inJSON = shown.hasPrefix("\"") ? shown : "\"\(shown)\""
            let wanted = format == .text ? "match=\(shown)" : "\"match\":\(inJSON)"
            #expect(lines.first?.contains(wanted) == true, "\(lines)")
        }
    }

    @Test("fits what a pipe takes at once, however much it is given", arguments: LogFormat.allCases)
    func isShort(format: LogFormat) throws {
        let log = LogFixture(format)
        let long = String(repeating: "\u{1}", count: 100_000)
        Logger(log.output, subsystem: "api").info("seen", ["a": long, "b": long, "c": long, "d": 1])
        let lines = log.lines()
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.utf8.count < 4_096)
        #expect(line.contains("truncated") && line.contains("d"))
        if format == .json { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
    }

    @Test("below the log's level is not written, nor made")
    func levels() {
        let log = LogFixture(from: .warning)
        let logger = Logger(log.output, subsystem: "api")
        func never() -> String {
            Issue.record("the fields of a line that is not written were made")
            return ""
        }
        logger.debug("one", ["a": never()])
        logger.info("two", ["a": never()])
        logger.warning("three")
        logger.error("four")
        Logger.silent.error("five")
        #expect(log.lines().map { $0.split(separator: " ").last } == ["three", "four"])
    }
}
