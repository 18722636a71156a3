import Executables
import Foundation
import Testing

@testable import loadtest

@Suite("A test of the whole service")
struct ServiceTests {
    private func options(_ line: String) throws -> PathOptions {
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        guard
            case .run(let invocation) = try parser.parse(line.split(separator: " ").map(String.init), environment: [:])
        else { throw Failure(.failed, "help") }
        return try PathOptions(invocation)
    }

    @Test("takes a scenario's settings, and what is typed wins")
    func scenario() throws {
        #expect(try options("path --scenario world-cup-final").tokens == 1_000_000)
        let tried = try options("path --scenario world-cup-final --tokens 20")
        #expect((tried.tokens, tried.events, tried.isLean) == (20, 5, true))
        #expect(try options("path --rate 5 --seconds 4").events == 20)
        #expect(throws: Failure.self) { try options("path --tokens 0 --channel-phones 0") }
    }

    @Test("has tokens of its own for each match and seed, the same each time")
    func tokens() {
        let all = [Phones(seed: 1), Phones(seed: 2)].flatMap { phones in
            (0..<3).flatMap { match in (0..<100).map { phones.token($0, match: match) } }
        }
        #expect(Set(all).count == 600)
        #expect(all.allSatisfy { $0.count == 64 })
        #expect(Phones(seed: 1).token(7, match: 2) == Phones(seed: 1).token(7, match: 2))
    }

    @Test("is settled only when every target has come to the newest version")
    func settled() throws {
        func deliveries(_ turns: String) throws -> Deliveries {
            try JSONDecoder().decode(
                Deliveries.self,
                from: Data(#"{"version":3,"merged_versions":1,"sends":[\#(turns)]}"#.utf8)
            )
        }
        func turn(_ target: String, _ versions: String, _ state: String, waiting: Int = 0) -> String {
            #"{"target":"\#(target)","versions":\#(versions),"state":"\#(state)","wanted":1,"accepted":1,"removed":0,"#
                + #""refused":0,"given_up":0,"waiting":\#(waiting),"resent":0,"first_push_ms":1,"last_push_ms":2}"#
        }
        #expect(try deliveries(turn("channel", "[3,3]", "done")).isSettled)
        #expect(try !deliveries(turn("channel", "[2,2]", "done")).isSettled)
        #expect(try !deliveries(turn("tokens", "[3,3]", "sending")).isSettled)
        #expect(try !deliveries(turn("tokens", "[3,3]", "done", waiting: 1)).isSettled)
        #expect(
            try !deliveries([turn("channel", "[3,3]", "done"), turn("tokens", "[1,2]", "done")].joined(separator: ","))
                .isSettled
        )
    }

    @Test("counts the phones that show their own match's last state")
    func right() throws {
        let summary = try JSONDecoder().decode(
            SimulatorControl.Summary.self,
            from: Data(
                #"""
                {"phones":9,"shows":[{"content_state":{"home":4,"away":0,"clock":"4'"},"ended":false,"count":5},
                 {"content_state":{"home":4,"away":1,"clock":"4'"},"ended":false,"count":3},
                 {"content_state":null,"ended":false,"count":1}]}
                """#.utf8
            )
        )
        #expect(summary.right([MatchState(score: 4, match: 0), MatchState(score: 5, match: 1)]) == 5)
    }
}
