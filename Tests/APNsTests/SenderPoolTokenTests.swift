import APNs
import APNsProtocol
import Crypto
import EventLoop
import TestSupport
import Testing

@Suite("A sender pool and its provider token", .timeLimit(.minutes(1)))
struct SenderPoolTokenTests {
    private typealias Server = ScriptedHTTP2Server
    private static let expired = #"{"reason":"ExpiredProviderToken"}"#

    @Test("hundreds of refusals at once cost one question and one new token; each push is sent again once")
    func renewsOnce() async throws {
        let tokens = ScriptedProviderTokens(["first", "second", "third"])
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1000), tokens: tokens) { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<201))
            await server.openStreams(200)
            await server.set(answersRequests: true)
            for stream in stride(from: Int32(3), through: 401, by: 2) {
                await server.respond(stream, status: 403, body: Self.expired)
            }
            #expect(try await sending.allSatisfy { $0 == .accepted(uniqueID: nil) })
            #expect(await tokens.refusals == [.expired])
            #expect(await server.requests().count == 401)
            #expect(pool.counts.resentBy[.providerToken] == 200)
            // APNs refuses a second token within 20 minutes on one connection.
            #expect(pool.counts.connectionsClosed == [.providerToken: 1])
        }
    }

    @Test("a clock that is wrong is said once, with by how much, and no other token is signed")
    func tellsOfWrongClock() async throws {
        let said = ThreadLock<[String]>([])
        let tokens = LocalProviderTokens(now: { 784_111_777 - 7200 })
        tokens.add(
            Pushes.credential,
            key: try P256PrivateKey.generate(),
            team: try Pushes.required(TeamID(validating: "ABCDE12345")),
            keyID: try Pushes.required(KeyID(validating: "KEYID12345"))
        )
        let log = LogFixture()
        try await withScriptedPool(tokens: tokens) { configuration in
            configuration.connectionsPerLane = 1
            configuration.wallClock = { 784_111_777 - 7200 }
            configuration.report = { sentence in said.withLock { $0.append(sentence) } }
            configuration.log = log.logger("apns")
        } _: { server, pool in
            await server.onFrame { server, frame in
                guard frame.endsStream else { return false }
                let date = (name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")
                server.respond(frame.stream, status: 403, fields: [date], body: Self.expired, on: frame.connection)
                return true
            }
            for number in 0..<5 {
                let outcomes = await pool.send(try Pushes.batch(number * 10..<number * 10 + 10))
                #expect(outcomes == Array(repeating: .providerTokenExpired, count: 10))
            }
            #expect(pool.counts.refused == ["ExpiredProviderToken": 50])
            // Each push went out once: there was no other token to send it with.
            #expect(await server.requests().count == 50)
        }
        let sentences = said.withLock { $0 }
        #expect(sentences.count == 1, "\(sentences)")
        #expect(sentences.first?.contains("7200 s behind APNs'") == true)
        let lines = log.all()
        #expect(lines.filter { $0.contains("error apns: a clock is wrong") && $0.contains("7200 s behind") }.count == 1)
        #expect(lines.contains { $0.contains("warning apns: APNs refused a provider token") })
        #expect(lines.allSatisfy { !$0.contains("eyJ") })
    }

    @Test("a young token that is refused although the clocks agree is said once")
    func tellsOfYoungToken() async throws {
        let said = ThreadLock<[String]>([])
        try await withScriptedPool { configuration in
            configuration.connectionsPerLane = 1
            configuration.report = { sentence in said.withLock { $0.append(sentence) } }
        } _: { server, pool in
            await server.onFrame { server, frame in
                guard frame.endsStream else { return false }
                server.respond(frame.stream, status: 403, body: Self.expired, on: frame.connection)
                return true
            }
            for number in 0..<3 {
                let outcomes = await pool.send(try Pushes.batch(number..<number + 1))
                #expect(outcomes == [.providerTokenExpired])
            }
        }
        #expect(said.withLock { $0.count } == 1)
    }

    /// One after the other, each refusal finds another connection, which counts as old too.
    @Test(
        "a topic that an old connection refuses is tried once on a new one, and each push once",
        arguments: [false, true]
    )
    func retriesTopic(oneAfterTheOther: Bool) async throws {
        let refusal = #"{"reason":"TopicDisallowed"}"#
        try await withScriptedPool(greeting: Server.settings(streamLimit: 1000)) { configuration in
            configuration.connectionsPerLane = 1
            configuration.topicGrace = .zero
        } _: { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<11))
            await server.openStreams(10)
            // Of what is sent again only the first is accepted.
            await server.onFrame { server, frame in
                guard frame.endsStream, frame.connection > 0 else { return false }
                if server.frames.count(where: { $0.connection > 0 && $0.endsStream }) == 1 {
                    server.respond(frame.stream, on: frame.connection)
                } else {
                    server.respond(frame.stream, status: 400, body: refusal, on: frame.connection)
                }
                return true
            }
            for (number, stream) in stride(from: Int32(3), through: 21, by: 2).enumerated() {
                await server.respond(stream, status: 400, body: refusal)
                if oneAfterTheOther { await server.until { $0.requests().count == 12 + number } }
            }
            let outcomes = try await sending
            #expect(outcomes.count { $0 == .accepted(uniqueID: nil) } == 2)
            #expect(outcomes.count { $0 == .configuration("TopicDisallowed") } == 9)
            #expect(await server.requests().count == 11 + 10)
            #expect(pool.counts.resentBy == [.topic: 10])
            #expect(pool.counts.refused == ["TopicDisallowed": 9])
        }
    }

    @Test("a young connection's word on a topic stands")
    func believesYoungConnections() async throws {
        try await withScriptedPool { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<1))
            await server.until { $0.requests().count == 1 }
            await server.respond(1, status: 400, body: #"{"reason":"TopicDisallowed"}"#)
            #expect(try await sending == [.configuration("TopicDisallowed")])
        }
    }

    @Test("retry-after counts from APNs' own date", arguments: ["90", "Sun, 06 Nov 1994 08:51:07 GMT"])
    func readsRetryAfter(value: String) async throws {
        try await withScriptedPool { server, pool in
            async let sending = pool.send(try Pushes.batch(0..<1))
            await server.until { $0.requests().count == 1 }
            await server.respond(
                1,
                status: 503,
                fields: [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", value)],
                body: #"{"reason":"ServiceUnavailable"}"#
            )
            #expect(try await sending == [.later(after: .seconds(90), reason: "ServiceUnavailable")])
        }
    }

    @Test(
        "a clock that steps back or ahead is followed by a token of its time, and otherwise by none",
        arguments: [
            (0, true), (-30, true), (2999, true), (3000, false), (-3600, false), (86_400, false), (-86_400, false),
        ]
    )
    func followsClockSteps(step: Int64, isKept: Bool) async throws {
        let clock = ThreadLock<Int64>(1_790_000_000)
        let tokens = LocalProviderTokens(now: { clock.withLock { $0 } })
        tokens.add(
            Pushes.credential,
            key: try P256PrivateKey.generate(),
            team: try Pushes.required(TeamID(validating: "ABCDE12345")),
            keyID: try Pushes.required(KeyID(validating: "KEYID12345"))
        )
        let first = try await tokens.token(for: Pushes.credential)
        clock.withLock { $0 += step }
        let second = try await tokens.token(for: Pushes.credential)
        #expect((first == second) == isKept)
        #expect(try await tokens.token(for: Pushes.credential) == second)
    }
}
