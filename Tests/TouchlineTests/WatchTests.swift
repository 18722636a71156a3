import Executables
import Testing

@testable import touchline

@Suite("A match that is watched")
struct WatchTests {
    private func match(_ more: String = "", status: String = "live", turns: String = "") throws -> WatchedMatch {
        let body = #"""
            {"match":"cup/1","bundle":"b","type":"T","status":"\#(status)","version":7,"kickoff_at":"2026-07-19T19:00:00Z",
            "topics":[],"paused":false,"content_state":{"home":2,"away":1,"home_name":"Spain","away_name":"Italy",
            "clock":"90+1'"},"channels":[{"environment":"production","cadence":"any","state":"pending","channel_id":null,
            "last_error":"\#(String(repeating: "why ", count: 40))"}]\#(more)}
            """#
        let deliveries = #"{"match":"cup/1","version":7,"merged_versions":0,"turns":[\#(turns)],"sums":[]}"#
        return try WatchedMatch(
            match: APIClient.Answer(status: 200, body: Array(body.utf8)),
            deliveries: APIClient.Answer(status: 200, body: Array(deliveries.utf8))
        )
    }

    private func turn(_ target: String, _ version: Int, state: String, wanted: Int = 10, accepted: Int = 10) -> String {
        #"""
        {"target":"\#(target)","environment":"production","cadence":"frequent","shard":0,"stragglers":false,
        "versions":[\#(version),\#(version)],"state":"\#(state)","wanted":\#(wanted),"accepted":\#(accepted),"removed":0,
        "refused":1,"given_up":0,"waiting":0,"resent":0,"priority":10,"downgraded":0}
        """#
    }

    @Test("shows score, version, targets, what waits and what failed, within the terminal", arguments: [40, 80, 200])
    func fits(width: Int) throws {
        let turns = [turn("tokens", 6, state: "done"), turn("tokens", 7, state: "sending", wanted: 10, accepted: 4)]
        let match = try match(turns: turns.joined(separator: ","))
        let lines = match.lines(width: width, now: "2026-07-19T20:00:00Z")
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        let text = lines.joined(separator: "\n")
        #expect(text.contains("cup/1  live  version 7"))
        #expect(text.contains("Spain 2–1 Italy  90+1'"))
        // Of a target its newest turn: five of ten have an outcome.
        #expect(lines.count { $0.hasPrefix("tok") } == 2)
        #expect(text.contains("waiting 5, failed 1"))
        #expect(text.contains("channel production any, pending: why"))
    }

    @Test("is one line for a program")
    func line() throws {
        let match = try match(turns: turn("channel", 7, state: "done"))
        #expect(
            match.line == "cup/1  live  version 7  Spain 2–1 Italy  90+1'  targets 1/1  waiting 0  errors 2"
        )
    }

    @Test("is over when it has ended and nothing waits")
    func isOver() throws {
        #expect(!(try match(turns: turn("tokens", 7, state: "done")).isOver))
        let done = turn("tokens", 7, state: "done", wanted: 11)
        #expect(try match(status: "ended", turns: done).isOver)
        let sending = turn("tokens", 7, state: "sending", wanted: 12)
        #expect(!(try match(status: "ended", turns: sending).isOver))
    }
}
