import Core
import Testing

@testable import touchline

@Suite("An answer shown to people")
struct AnswerViewTests {
    private static let app = #"""
        {"bundle":"com.acme.scores","environment":"production","key_fingerprint":"\#(String(repeating: "0f", count: 32))",
        "pacing":{"frequent":{"gap_seconds":5,"urgent_per_hour":120},"standard":{"gap_seconds":60,"urgent_per_hour":15}},
        "content_state":{"home":1,"away":0},"stopped":{"tokens":"more than half of at least 50 tokens were refused within 5 \#
        minutes: check that the app's environment is that of the phones' build","channels":null},"empty":{}}
        """#

    @Test("has a line for each setting, those within others by their path, in 80 columns")
    func object() throws {
        guard case .object(let members) = try JSONScanner.decode(Array(Self.app.utf8)).content else {
            Issue.record("no object")
            return
        }
        let lines = AnswerView.text(of: members, width: 80).split(separator: "\n").map(String.init)
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
        let words = Set(lines.map { $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ") })
        for line in [
            "pacing.frequent.gap_seconds 5", "pacing.standard.urgent_per_hour 15", "stopped.channels –",
            #"content_state {"home":1,"away":0}"#,
        ] { #expect(words.contains(line), "\(line) in \(lines)") }
        let text = lines.map { $0.drop { $0 != " " }.drop { $0 == " " } }.joined(separator: " ")
        #expect(text.replacing("  ", with: " ").contains("is that of the phones' build"))
    }

    @Test("cuts ids last, since they are copied into the next command", arguments: [80, 60, 30])
    func ids(width: Int) {
        let id = "586jxSEnItbUm0OMupL1SA=="
        var table = Table(["CHANNEL", "STATE", "REPLACED", "LAST ERROR"], whole: [0], width: width)
        table.add([id, "open", "2026-11-30T12:01:01.532Z", "ChannelNotRegistered: the channel is gone at APNs"])
        let lines = table.text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        #expect(lines[1].hasPrefix(id) == (width > 30))
    }
}
