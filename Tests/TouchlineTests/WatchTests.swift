import EventLoop
import Executables
import Foundation
import TestSupport
import Testing

@testable import touchline

@Suite("A match that is watched")
struct WatchTests {
    private func match(_ targets: String = "", status: String = "live", sends: String = "") throws -> WatchedMatch {
        let body = #"""
            {"match":"cup/1","bundle":"b","type":"T","status":"\#(status)","version":7,"kickoff_at":"2026-07-19T19:00:00Z",
            "topics":[],"paused":false,"content_state":{"home":2,"away":1,"home_name":"Spain","away_name":"Italy",
            "clock":"90+1'"},"channels":[{"environment":"production","cadence":"any","state":"pending","channel_id":null,
            "last_error":"\#(String(repeating: "why ", count: 40))"}]}
            """#
        let deliveries =
            #"{"match":"cup/1","version":7,"merged_versions":0,"sends":[\#(sends)],"sums":[],"targets":[\#(targets)]}"#
        return try WatchedMatch(
            match: APIClient.Answer(status: 200, body: Array(body.utf8)),
            deliveries: APIClient.Answer(status: 200, body: Array(deliveries.utf8))
        )
    }

    private func send(_ target: String, _ version: Int, state: String, wanted: Int = 10, accepted: Int = 10) -> String {
        #"""
        {"target":"\#(target)","environment":"production","cadence":"frequent",
        "versions":[\#(version),\#(version)],"state":"\#(state)","wanted":\#(wanted),"accepted":\#(accepted),"removed":0,
        "refused":1,"given_up":0,"merged":0,"waiting":0,"resent":0,"priority":10,"downgraded":0,"behind":0}
        """#
    }

    @Test("shows score, version, targets, what waits and what failed, within the terminal", arguments: [40, 80, 200])
    func fits(width: Int) throws {
        let sends = [send("tokens", 6, state: "done"), send("tokens", 7, state: "sending", wanted: 10, accepted: 4)]
        let match = try match(sends: sends.joined(separator: ","))
        let lines = match.lines(width: width, now: Date(timeIntervalSince1970: 1_784_491_200))
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        let text = lines.joined(separator: "\n")
        #expect(text.contains("cup/1  live  version 7"))
        #expect(text.contains("Spain 2–1 Italy  90+1'"))
        // Of a target its newest line: five of ten have an outcome.
        #expect(lines.count { $0.hasPrefix("tok") } == 2)
        #expect(text.contains("waiting 5, failed 1"))
        #expect(text.contains("channel production any, pending: why"))
    }

    @Test("says what keeps the pushes of its app back")
    func held() throws {
        let body = #"""
            {"match":"cup/1","bundle":"b","status":"live","version":7,"kickoff_at":"2026-07-19T19:00:00Z","paused":false,
            "content_state":{},"channels":[]}
            """#
        let apps = #"""
            {"items":[{"bundle":"b","environment":"production","paused":true,"stopped":{"tokens":null,"channels":"why"}},
            {"bundle":"c","environment":"production","paused":true,"stopped":{"tokens":"x","channels":null}}],"next":null}
            """#
        let match = try WatchedMatch(
            match: APIClient.Answer(status: 200, body: Array(body.utf8)),
            deliveries: nil,
            apps: APIClient.Answer(status: 200, body: Array(apps.utf8))
        )
        #expect(match.errors == ["app b production is paused", "app b production channels stopped: why"])
        #expect(match.line.hasSuffix("errors 2"))
    }

    @Test("says that something waits where pacing or APNs holds a send before its first push")
    func heldTurn() throws {
        let match = try match(sends: send("channel", 7, state: "waiting", wanted: 0, accepted: 0))
        #expect(match.waiting == 1 && !match.isOver)
        let late = try self.match(sends: send("tokens", 7, state: "waiting", wanted: 10, accepted: 4))
        #expect(late.waiting == 5)
    }

    @Test("is one line for a program")
    func line() throws {
        let match = try match(sends: send("channel", 7, state: "done"))
        #expect(
            match.line == "cup/1  live  version 7  Spain 2–1 Italy  90+1'  targets 1/1  waiting 0  errors 2"
        )
    }

    @Test("says what is behind, since when, and what APNs answered last")
    func behind() throws {
        func stalled(_ target: String, _ cadence: String, _ behind: Int, _ since: String, _ answer: String) -> String {
            #"""
            {"target":"\#(target)","environment":"production","cadence":"\#(cadence)","versions":[5,7],"state":"waiting",
            "wanted":0,"accepted":0,"removed":0,"refused":0,"given_up":0,"merged":0,"waiting":0,"behind":\#(behind),
            "behind_since":"2026-07-19T\#(since)Z","last_answer":\#(answer)}
            """#
        }
        let sends = [
            stalled("tokens", "standard", 60, "20:46:03.5", "null"),
            stalled("channel", "any", 1, "20:46:04", #""503 Shutdown""#),
        ]
        let match = try match(sends: sends.joined(separator: ","))
        #expect(match.waiting == 61 && match.line.contains("targets 0/2  waiting 61"))
        let now = Date(timeIntervalSince1970: 1_784_494_003)
        #expect(
            match.behind(now: now) == [
                "tokens production standard: 60 behind since 20:46:03 (40 s), last answer: none",
                "channel production any: 1 behind since 20:46:04 (39 s), last answer: 503 Shutdown",
            ]
        )
        let hours = match.lines(width: 80, now: now + 7_800).joined(separator: "\n")
        #expect(hours.contains("60 behind since 20:46:03 (2 h 10 min)"))
    }

    @Test("counts a target that has nothing to send among those that are done")
    func ready() throws {
        let reached =
            #"{"target":"channel","environment":"production","cadence":"frequent","shard":0,"reached":7,"due_at":null}"#
        let match = try match(reached, sends: send("tokens", 7, state: "done"))
        #expect(match.waiting == 0 && match.line.contains("targets 2/2"))
    }

    @Test("is over when it has ended and nothing waits")
    func isOver() throws {
        #expect(!(try match(sends: send("tokens", 7, state: "done")).isOver))
        let done = send("tokens", 7, state: "done", wanted: 11)
        #expect(try match(status: "ended", sends: done).isOver)
        let sending = send("tokens", 7, state: "sending", wanted: 12)
        #expect(!(try match(status: "ended", sends: sending).isOver))
    }
}

@Suite("Watching on a terminal", .database, .timeLimit(.minutes(10)))
struct WatchOnTerminalTests {
    @Test("fills the screen within its columns; Ctrl-C gives the terminal back, and is no failure")
    func interrupted() async throws {
        try await CommandStage.with { stage in
            // `script` gives it a terminal of its own; what is typed comes through a pipe.
            let run = try await stage.run(
                """
                export TOUCHLINE_KEY=$(cat ~/touchline/operator.key)
                export TOUCHLINE_TENANT=$(touchline tenant create acme | awk '/^tenant/ {print $2}')
                touchline app set com.acme.scores production --team-id SIMTEAM001 --key-id SIMKEY0001 --p8 AuthKey.p8
                touchline match create final --bundle com.acme.scores --type Any --kickoff-at 2031-08-22T14:00:00Z \\
                    --content-state '{"home":0,"away":0,"long":"\(String(repeating: "x", count: 200))"}'
                mkfifo typed
                exec 3<>typed
                script -qefc 'stty cols 80 rows 24; exec touchline match watch final' screen <typed >/dev/null 2>&1 &
                # Kept: a process substitution takes the place of $!.
                watch=$!
                trap 'kill "$watch" 2>/dev/null || true' EXIT
                until grep -q 'Ctrl-C ends' screen 2>/dev/null; do
                    kill -0 "$watch" 2>/dev/null || exit 1
                    read -rt 0.1 <> <(:) || true
                done
                printf '\\003' >&3
                wait "$watch"
                """
            )
            #expect(run.ending == .exited(0), "\(run.output)")
            let screen = try String(contentsOfFile: "\(stage.folder)/screen", encoding: .utf8)
            let opened = try #require(screen.range(of: "\u{1B}[?1049h"))
            let closed = try #require(screen.range(of: "\u{1B}[?25h\u{1B}[?1049l"))
            #expect(opened.upperBound < closed.lowerBound)
            for line in screen[opened.upperBound..<closed.lowerBound].split(separator: "\u{1B}[K") {
                #expect(String(line).trimmed.replacing(/\u{1B}\[[?0-9]*[A-Za-z]/, with: "").count <= 80, "\(line)")
            }
            #expect(screen.contains("final  scheduled  version 0"))
        }
    }
}
