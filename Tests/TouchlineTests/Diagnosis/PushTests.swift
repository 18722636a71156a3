import APNsProtocol
import APNsSimulator
import Core
import Crypto
import Executables
import Foundation
import HTTP2
import Server
import TestSupport
import Testing

@testable import touchline

@Suite("A push by hand", .timeLimit(.minutes(2)))
struct PushTests {
    private static let key = ["--p8", "/nowhere", "--team", "ABCDE12345", "--key", "FGHIJ67890"]
    private static let base = key + ["--bundle", "com.acme.scores"]

    private func invocation(_ verb: String, _ words: [String]) throws -> Invocation {
        let parser = CommandParser(program: .touchline, commands: Command.all)
        guard case .run(let invocation) = try parser.parse(["push", verb] + words, environment: [:]) else {
            throw Failure(.failed, "help instead of a command")
        }
        return invocation
    }

    private func read(_ event: LiveActivityEvent, _ words: [String]) throws -> HandPush {
        try HandPush(try invocation(event.rawValue, Self.base + words), event, now: 1_790_000_000)
    }

    @Test("has the bytes and headers that were asked for")
    func composes() throws {
        let push = try read(.update, ["--token", "0A1B", "--content-state", #"{ "n":1.10}"#, "--stale-after", "300"])
        let body = String(decoding: push.composer.compose(), as: UTF8.self)
        let expected =
            #"{"aps":{"timestamp":1790000000,"event":"update","stale-date":1790000300,"content-state":{ "n":1.10}}}"#
        #expect(body == expected)
        #expect(push.route.path == "/3/device/0a1b")
        #expect(push.headers == .device(push.bundle, priority: 10, expiration: 1_790_000_300))
        #expect(push.faults == [] && push.notes == [])
    }

    @Test("keeps nothing on a channel, whose policy is not known, unless told otherwise")
    func channelExpiration() throws {
        let words = ["--channel", "AAECAwQFBgcICQoLDA0ODw==", "--content-state", "{}"]
        #expect(try read(.end, words).expiration == 0)
        #expect(try read(.end, words + ["--expires-after", "60"]).expiration == 1_790_000_060)
        let stored = try read(.update, words + ["--expires-after", "60", "--storage-policy", "0"])
        #expect(stored.faults.count == 1 && stored.faults[0].contains("storage policy 0"))
    }

    @Test("is refused before it is sent, with what to type")
    func refuses() throws {
        let token = ["--token", "0a1b"]
        let start = token + ["--content-state", "{}", "--attributes", "{}", "--attributes-type", "T"]
        #expect(try read(.start, start).faults.joined().contains("--alert-title"))
        #expect(try read(.update, token + ["--priority", "1"]).faults.joined().contains("5 and 10"))
        let long = #"{"x":"\#(String(repeating: "x", count: 4_200))"}"#
        #expect(try read(.update, token + ["--content-state", long]).faults.count == 2)
        for (event, words, text) in [
            (.update, [], "neither --token nor --channel"), (.start, [], "--token is missing"),
            (.update, token + ["--channel", "AA=="], "exclude each other"),
            (.update, ["--token", "xyz"], "--token must be"),
            (.update, token + ["--content-state", "[]"], "not an object"),
            (.update, token + ["--content-state", "{"], "--content-state: "),
            (.update, token + ["--environment", "prod"], "sandbox or production"),
            (.update, token + ["--content-state", #"{"n":"1"}"#, "--contract", #"{"n":"int"}"#], "content_state.n"),
            (.update, token + ["--alert-title", "x"], "go together"),
            (.start, start + ["--alert-title", "", "--alert-body", "x"], "--alert-title is empty"),
            (.start, start + ["--alert-title", "x", "--alert-body", " \u{200B}"], "--alert-body is empty"),
            (.end, token + ["--alert-title", "x", "--alert-body", "\n"], "--alert-body is empty"),
        ] as [(LiveActivityEvent, [String], String)] {
            let failure = #expect(throws: Failure.self) { try read(event, words) }
            #expect(failure?.kind == .wrongUse && failure?.message.contains(text) == true, "\(failure?.message ?? "")")
        }
    }

    @Test("notes what reads as UNIX time")
    func notes() throws {
        let push = try read(.update, ["--token", "0a", "--content-state", #"{"a":[{"at":1784487600}],"b":806180400}"#])
        #expect(push.notes.count == 1 && push.notes[0].hasPrefix("content-state.a[0].at is 1784487600"))
    }

    @Test("goes out, and its answer is told apart")
    func sends() async throws {
        try await withSimulator { simulator in
            let credential = [
                "--p8", simulator.p8File, "--team", simulator.teamID, "--key", simulator.keyID,
                "--bundle", "com.acme.scores", "--ca", simulator.caFile,
                "--host", "localhost:\(simulator.port(.production, .push))",
            ]
            let state = ["--token", "0a1b2c3d", "--content-state", #"{"home":1}"#]
            func run(_ words: [String]) async -> Int32 {
                await Touchline.run(["push", "update"] + words, environment: [:])
            }
            #expect(await run(credential + state + ["--dry-run"]) == 0)
            #expect(await simulator.requests().isEmpty)
            #expect(await run(credential + state) == 0)
            #expect(await run(credential + state + ["--json"]) == 0)
            #expect(await simulator.requests().count == 2)
            #expect(await run(credential + ["--token", "0a", "--priority", "7"]) == 2)
            try await simulator.setFaults(
                #"{"rules":[{"on":{"route":"device"},"do":{"status":410,"reason":"Unregistered","timestamp":1790000000000}}]}"#
            )
            #expect(await run(credential + state) == 1)
            #expect(await run(credential + state + ["--host", "localhost:1"]) == 1)
        }
    }

    @Test("is shown without its provider token, and its answer with what it means")
    func view() throws {
        let words = try invocation("update", Self.base + ["--token", "0a1b", "--content-state", "{}"])
        let push = try HandPush(words, .update, now: 1_790_000_000)
        let view = PushView(
            push: push,
            key: SigningKey(key: try .generate(), team: try words.wrapped("--team"), keyID: try words.wrapped("--key")),
            host: .init(host: "localhost", port: 9_443),
            id: APNsID(seed: Array(repeating: 7, count: 16), index: 0)
        )
        #expect(view.request.contains("POST https://localhost:9443/3/device/0a1b\n"))
        #expect(view.request.contains("apns-topic: com.acme.scores.push-type.liveactivity\n"))
        #expect(view.request.contains("not shown") && !view.request.contains("eyJ"))
        let dead = APNsExchange.Answer(
            response: .init(status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1790000000000}"#.utf8)),
            duration: .milliseconds(12)
        )
        let text = view.answer(dead)
        #expect(text.hasPrefix("410 after 12 ms"))
        #expect(text.contains("2026-09-21T") && text.contains("TROUBLES.md#tokens-end"))
    }
}
