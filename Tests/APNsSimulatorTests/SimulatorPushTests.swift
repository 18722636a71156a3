import APNsSimulator
import Crypto
import HTTP2
import TestSupport
import Testing

@Suite("Pushes to a simulator", .timeLimit(.minutes(1)))
struct SimulatorPushTests {
    @Test("an accepted push has an empty answer with its id, and in the sandbox a key for the console")
    func accepted() async throws {
        try await SimulatorBench.with { bench in
            let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
            let production = try await bench.connect(.production)
            let first = try await production.answer(bench.device(TestTokens.token(1), ["apns-id": id]))
            #expect(first.status == 200)
            #expect(first.body.isEmpty)
            #expect(first.fields["apns-id"] == id)
            #expect(first.fields["apns-unique-id"] == nil)
            let sandbox = try await bench.connect(.sandbox)
            let second = try await sandbox.answer(bench.device(TestTokens.token(1)))
            #expect(second.fields["apns-unique-id"] != nil)
            #expect(second.fields["apns-id"]?.utf8.count == 36)
        }
    }

    @Test("digits, order and Unicode of a content state stay as they came")
    func verbatim() async throws {
        try await SimulatorBench.with { bench in
            let state = #"{"z":9007199254740993,"a":1.10,"big":12345678901234567890,"flag":"🇦🇷","esc":"\u00e9"}"#
            let body = SimulatorBench.payload(5, state: state)
            let client = try await bench.connect()
            #expect(try await client.answer(bench.device(TestTokens.token(1), body: body)).status == 200)
            #expect(await bench.simulator.shown(on: TestTokens.token(1)) == state)
            let seen = await bench.simulator.requests(last: 1)
            #expect(seen.first.map { String(decoding: $0.body, as: UTF8.self) } == body)
            let shown = try await bench.control("GET", "/_sim/phones?token=\(TestTokens.token(1))")
            #expect(shown.text.contains(#""shows":\#(state)"#))
        }
    }

    @Test("a rejection says why, and lowers the limit to one stream until the next success")
    func rejected() async throws {
        try await SimulatorBench.with { bench in
            let client = try await bench.connect()
            let rejected = try await client.answer(bench.device("nonsense"))
            #expect(rejected.status == 400)
            #expect(rejected.text == #"{"reason":"BadDeviceToken"}"#)
            #expect(rejected.fields["content-type"] == "application/json")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    group.addTask { try await client.answer(bench.device(TestTokens.token(number))).status }
                }
                return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            #expect(statuses == [200])
            let counts = await bench.simulator.counts
            #expect(counts.answers == ["200": 200, "400 BadDeviceToken": 1])
            #expect(counts.requests["device"] == 201)
            #expect(counts.doubled == 0)
            #expect(counts.streamLimitBroken == 0)
        }
    }

    @Test("a key that the service does not know, and one that it was told of")
    func keys() async throws {
        try await SimulatorBench.with { bench in
            let provider = try TestProvider(teamID: "OTHERTEAM1")
            let authorization = try provider.authorization(issuedAt: bench.simulator.clock())
            let unknown = try await bench.connect()
            let request = bench.device(TestTokens.token(1), ["authorization": authorization])
            #expect(try await unknown.answer(request).text == #"{"reason":"InvalidProviderToken"}"#)
            await bench.simulator.add(provider.credential())
            let known = try await bench.connect()
            #expect(try await known.answer(request).status == 200)
            // The first push has tied the connection to its team.
            let other = try await known.answer(bench.device(TestTokens.token(1)))
            #expect(other.text == #"{"reason":"UnrelatedKeyIdInToken"}"#)
        }
    }

    @Test("the same id, or the same stamp to the same token, is a double")
    func doubles() async throws {
        try await SimulatorBench.with { bench in
            let client = try await bench.connect()
            let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
            let bodies = [
                (1, SimulatorBench.payload(1)), (2, SimulatorBench.payload(1)), (2, SimulatorBench.payload(1)),
            ]
            for (token, body) in bodies {
                _ = try await client.answer(bench.device(TestTokens.token(token), body: body))
            }
            for stamp in [7, 8] {
                let push = bench.device(TestTokens.token(3), ["apns-id": id], body: SimulatorBench.payload(stamp))
                _ = try await client.answer(push)
            }
            let counts = await bench.simulator.counts
            #expect(counts.doubled == 2)
            #expect(counts.doubledStamps == 1)
            #expect(counts.doubledIDs == 1)
        }
    }

    @Test("lean: everything is accepted and counted, channels are managed as ever")
    func lean() async throws {
        try await SimulatorBench.with(configure: { $0.isLean = true }) { bench in
            let client = try await bench.connect()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        try await client.answer(bench.device(TestTokens.token(number), ["authorization": "x"])).status
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
            #expect(await bench.simulator.counts.answers == ["200": 500])
            let manage = try await bench.connect(.production, .manage)
            let body = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
            #expect(try await manage.answer(bench.manage("POST", body: body)).status == 201)
        }
    }

    @Test("a body over every limit is answered, not cut off")
    func hugeBody() async throws {
        try await SimulatorBench.with { bench in
            let client = try await bench.connect()
            for size in [4097, 20_000, 200_000] {
                let body = String(repeating: " ", count: size)
                let answer = try await client.answer(bench.device(TestTokens.token(1), body: body))
                #expect(answer.status == 413)
                #expect(answer.text == #"{"reason":"PayloadTooLarge"}"#)
            }
        }
    }
}
