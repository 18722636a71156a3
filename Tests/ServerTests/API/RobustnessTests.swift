import Core
import HTTP2
import PostgreSQL
import Server
import Store
import Synchronization
import TestSupport
import Testing

@Suite("The API under wrong input and trouble", .database, .timeLimit(.minutes(5)))
struct RobustnessTests {
    @Test("without PostgreSQL everything is unavailable, with a time to come back")
    func databaseGone() async throws {
        let fixture = try await APIFixture.make()
        await fixture.store.database.shutdown()
        await fixture.store.api.shutdown()
        for (method, target, key) in [
            ("GET", "/v1/matches/m1", fixture.read), ("POST", "/v1/matches/m1/events", fixture.feed),
            ("PUT", "/v1/matches/m1/activities/a", fixture.app), ("POST", "/v1/events", fixture.feed),
            ("GET", "/readyz", ""),
        ] {
            let response = await fixture.call(key).send(method, target, #"{"id":"1","content_state":{}}"#)
            #expect(response.status == 503 && response.fields["retry-after"] != nil, "\(target)")
            let answer = JSONAnswer(try JSONScanner.read(response.body), response)
            #expect(answer["code"].text == "unavailable")
        }
        #expect(await fixture.call(nil).send("GET", "/healthz").status == 200)
    }

    @Test("an address where no PostgreSQL listens is answered within the patience")
    func nowhere() async throws {
        let loop = TestDatabase.current.loop
        let pool = PGPool(PGPool.Configuration(conninfo: "host=/nonexistent dbname=x", limit: 1), on: [loop])
        let store = Store(database: pool, api: pool, masterKey: .random())
        let api = API(store: store, patience: .milliseconds(300), wake: {})
        let started = ContinuousClock.now
        let response = await APICaller(api: api, key: "tl_read_00_00").send("GET", "/v1/matches")
        #expect(response.status == 503)
        #expect(ContinuousClock.now - started < .seconds(10))
        await pool.shutdown()
    }

    @Test("the same event from many sides at once is accepted once")
    func sameAtOnce() async throws {
        let fixture = try await APIFixture.make()
        let event = #"{"id":"goal","content_state":\#(APIFixture.state)}"#
        let responses = await withTaskGroup(of: HTTPResponse.self) { group in
            for _ in 0..<24 {
                group.addTask { await fixture.call(fixture.feed).send("POST", "/v1/matches/m1/events", event) }
            }
            return await group.reduce(into: [HTTPResponse]()) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0.status == 202 })
        #expect(responses.filter { $0.fields["idempotent-replayed"] == nil }.count == 1)
        #expect(Set(responses.map { String(decoding: $0.body, as: UTF8.self) }).count == 1)
    }

    @Test("events from many sides at once each get a version of their own")
    func manyAtOnce() async throws {
        let fixture = try await APIFixture.make()
        let versions = try await withThrowingTaskGroup(of: String?.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let event = #"{"id":"e\#(index)","content_state":\#(APIFixture.state)}"#
                    return try await fixture.call(fixture.feed).json("POST", "/v1/matches/m1/events", event, 202)[
                        "version"
                    ].raw
                }
            }
            return try await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(Set(versions) == Set((1...40).map { "\($0)" }))
    }

    @Test("mangled requests get a clear problem, never a fault of ours", arguments: 0..<4 as Range<UInt64>)
    func mangled(seed: UInt64) async throws {
        let fixture = try await APIFixture.make()
        var random = SplitMix(state: seed)
        let templates: [(String, String, String)] = [
            (
                "POST", "/v1/matches/m1/events",
                #"{"id":"1","kind":"update","sequence":7,"importance":"key","content_state":\#(APIFixture.state),"alert":{"title":"a","body":"b"},"aps_extra":{"x":1}}"#
            ),
            ("POST", "/v1/events", #"{"match":"m1","id":"1","content_state":\#(APIFixture.state)}"#),
            ("PUT", "/v1/matches/m2?x=1", APIFixture.matchBody),
            (
                "PUT", "/v1/matches/m1/activities/a%2F",
                #"{"token":"00ff","environment":"production","frequent_pushes_enabled":true,"version":3}"#
            ),
            (
                "POST", "/v1/matches/m1/activities",
                #"{"activity":"a","token":"00ff","environment":"production","frequent_pushes_enabled":true}"#
            ),
            (
                "PUT", "/v1/apps/\(APIFixture.bundle)/types/T",
                #"{"content_state":{"a":"int","b":{"enum":["x"]},"c":["date?"]}}"#
            ),
            (
                "PATCH", "/v1/apps/\(APIFixture.bundle)/sandbox",
                #"{"paused":true,"pacing":{"frequent":{"gap_seconds":5}}}"#
            ),
            ("GET", "/v1/matches?limit=5&after=bTE&status=live", ""),
            ("GET", "/v1/matches/m1/events?after=MQBh", ""), ("GET", "/v1/channels?after=YQBiAGM", ""),
            ("GET", "/v1/matches/m1/channel?environment=sandbox&frequent_pushes_enabled=true", ""),
        ]
        for _ in 0..<100 {
            let (method, target, body) = templates[Int(random.next() % UInt64(templates.count))]
            let mangledBody = random.mangle(Array(body.utf8), with: body.utf8)
            let path =
                random.next() % 3 == 0 ? random.mangle(Array(target.utf8), with: "%0/?&=+ñ".utf8) : Array(target.utf8)
            let text = String(decoding: path, as: UTF8.self)
            let response = await fixture.call(fixture.admin).send(method, text, bytes: mangledBody)
            let shown =
                "\(method) \(text) \(String(decoding: mangledBody, as: UTF8.self)): \(String(decoding: response.body, as: UTF8.self))"
            #expect(response.status < 500, "\(shown)")
            if response.status >= 400 {
                let answer = JSONAnswer(try JSONScanner.read(response.body), response)
                #expect(Problem.Code(rawValue: answer["code"].text) != nil, "\(shown)")
                #expect(!answer["detail"].text.isEmpty, "\(shown)")
            }
        }
    }
}

/// Random numbers that a seed repeats (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Changes, doubles, drops or cuts off a few bytes.
    mutating func mangle(_ bytes: [UInt8], with alphabet: some Collection<UInt8>) -> [UInt8] {
        var bytes = bytes
        let letters = Array(alphabet) + [0, 0x22, 0x5C, 0x7B, 0xFF, 0xC3, 0x0A]
        for _ in 0..<(1 + Int(next() % 3)) where !bytes.isEmpty {
            let place = Int(next() % UInt64(bytes.count))
            switch next() % 4 {
            case 0: bytes[place] = letters[Int(next() % UInt64(letters.count))]
            case 1: bytes.insert(letters[Int(next() % UInt64(letters.count))], at: place)
            case 2: bytes.remove(at: place)
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }
}
