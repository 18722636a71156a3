import EventLoop
import Executables
import Foundation
import TestSupport
import Testing

@testable import touchline

@Suite("The README's walk-through", .database, .timeLimit(.minutes(10)))
struct ReadmeTests {
    private static let text = Result {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    }

    /// The blocks of shell between a heading and the next.
    private func blocks(under heading: String) throws -> [String] {
        let text = try Self.text.get()
        let start = try #require(text.range(of: "\n\(heading)\n"), "there is no \(heading)")
        let rest = text[start.upperBound...]
        let section = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
        return section.components(separatedBy: "\n```sh\n").dropFirst().map { block in
            String(block[..<(block.range(of: "\n```")?.lowerBound ?? block.endIndex)])
        }
    }

    @Test("takes a match from its first whistle to its last, word for word")
    func wordForWord() async throws {
        let script = try #require(try blocks(under: "### A match, from the first whistle to the last").first)
        try await CommandStage.with { stage in
            let run = try await stage.run(script)
            #expect(run.ending == .exited(0), "\(run.output)")
            for text in [
                "cadence any", "Nothing was stored, and nothing was sent.", "match_paused", "ended",
                "targets 2/2  waiting 0  errors 0",
            ] { #expect(run.output.contains(text), "no “\(text)” in \(run.output)") }

            // What a phone shows, and what went out on the channel.
            let simulator = try APIClient.connecting(to: stage.apns.control, key: nil, patience: .seconds(60))
            let phones = try await simulator.send("GET", "/_sim/phones?token=0a1b2c3d4e5f").text
            #expect(
                phones.contains(#"{"home":1,"away":1,"minute":90}"#) && phones.contains(#""ended":true"#),
                "\(phones)"
            )
            let requests = try await simulator.send("GET", "/_sim/requests?last=100").text
            #expect(requests.contains("/4/broadcasts/apps/com.acme.scores"), "\(requests)")
            #expect(requests.contains("/3/device/5e4d3c2b1a09"), "\(requests)")
            await simulator.close()
        }
    }

    @Test("starts the two programs with options that they have")
    func start() throws {
        let block = try #require(try blocks(under: "## Use it").first)
        let line = try #require(block.components(separatedBy: "\n").drop { !$0.hasPrefix("touchline serve") }.first)
        let whole = block[try #require(block.range(of: line)).lowerBound...].replacing("\\\n", with: " ")
        let words = whole.split(whereSeparator: \.isWhitespace).map(String.init).dropFirst()
        let parser = CommandParser(program: .touchline, commands: Command.all)
        guard case .run(let invocation) = try parser.parse(Array(words), environment: [:]) else {
            Issue.record("no command")
            return
        }
        #expect(invocation.command.name == "serve" && invocation.value("--data") == "~/touchline")
    }
}
