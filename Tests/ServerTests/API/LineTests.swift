import Core
import HTTP2
import PostgreSQL
import Store
import TestSupport
import Testing

@testable import Server

@Suite("Lines that arrive in pieces")
struct LineTests {
    @Test("are the same however the body is cut", arguments: [1, 2, 3, 7, 64, 1_000])
    func splits(size: Int) {
        let text = "a\n\nbb\r\n  \n{\"c\":1}\n\tccc"
        let bytes = Array(text.utf8)
        var splitter = LineSplitter()
        var lines: [LineSplitter.Line] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines += splitter.append(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        if let last = splitter.finish() { lines.append(last) }
        #expect(lines == ["a", "bb\r", "{\"c\":1}", "\tccc"].map { .bytes(Array($0.utf8)) })
        #expect(splitter.finish() == nil)
    }

    @Test("have an end")
    func tooLong() {
        var splitter = LineSplitter()
        let piece = [UInt8](repeating: 0x61, count: 40_000)
        #expect(splitter.append(piece) == [] && splitter.append(piece) == [])
        #expect(splitter.append(Array("\nb\n".utf8)) == [.tooLong(bytes: 80_000), .bytes([0x62])])
        let longest = [UInt8](repeating: 0x61, count: LineSplitter.maxLineBytes)
        #expect(splitter.append(longest + [0x0A]) == [.bytes(longest)])
    }

    @Test("come in batches")
    func batches() async throws {
        let body = Array((0..<2_500).map { "\($0)\n" }.joined().utf8)
        var reader = LineReader(BufferedExchange(body))
        var sizes: [Int] = []
        while true {
            let batch = try await reader.next()
            sizes.append(batch.count)
            if batch.isEmpty { break }
        }
        #expect(sizes == [1_000, 1_000, 500, 0])
    }

    /// A body in pieces of 64 KiB, as a connection brings it.
    private final class Pieces: LineExchange {
        private var rest: ArraySlice<UInt8>

        init(_ body: [UInt8]) { rest = body[...] }

        func read() async throws -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(64 << 10) }
            return Array(rest.prefix(64 << 10))
        }

        func write(_ bytes: [UInt8]) async throws {}
    }

    @Test("go on behind megabytes without one", arguments: ["a", " ", "\n"])
    func longStretch(filler: String) async throws {
        let stretch = [UInt8](repeating: Array(filler.utf8)[0], count: LineReader.batchBytes + 64 << 10)
        var reader = LineReader(Pieces(Array("1\n".utf8) + stretch + Array("\n2".utf8)))
        var lines: [LineSplitter.Line] = []
        while case let batch = try await reader.next(), !batch.isEmpty { lines += batch }
        #expect(lines == [.bytes([0x31])] + (filler == "\n" ? [] : [.tooLong(bytes: stretch.count)]) + [.bytes([0x32])])
    }

    @Test(
        "are not parts of one document: an array, or an object over several lines",
        arguments: [
            "[{}]", "\n [{},\n{}]", "\u{FEFF}[\n{}\n]", "[", "{\"devices\":[\n{}\n]}", "{\n\"device\":\"a\"\n}",
            "{},\n{}",
        ]
    )
    func documents(body: String) async throws {
        var reader = LineReader(Pieces(Array(body.utf8)))
        let problem = await #expect(throws: Problem.self) { _ = try await reader.next() }
        #expect(problem?.code == .malformedJSON)
    }

    @Test(
        "are looked at one by one behind the first",
        arguments: ["{}\n[1]\n{},", "7\n[", "{\"a\":\"[\"}", "]", "{}}"]
    )
    func singleFaults(body: String) async throws {
        var reader = LineReader(Pieces(Array(body.utf8)))
        #expect(try await reader.next().count == body.split(separator: "\n").count)
    }
}

@Suite("A body that is not lines", .database, .timeLimit(.minutes(2)))
struct LineBodyTests {
    private static let device = #"{"device":"d1","environment":"sandbox"}"#

    private func devices(_ fixture: APIFixture) async throws -> Int64? {
        try await fixture.store.owner(by: .patient, "SELECT count(*) FROM devices").first?.int(0)
    }

    @Test("is refused whole when it is a JSON array, and nothing is stored")
    func array() async throws {
        let fixture = try await APIFixture.make()
        // Its first line is longer than any may be.
        let first = String(repeating: "\(Self.device),", count: 2_000)
        let body = "[\(first)\n\(Self.device.replacing("d1", with: "d2"))\n]"
        for (path, key) in [
            ("/v1/devices", fixture.app), ("/v1/matches/m1/activities", fixture.app), ("/v1/events", fixture.feed),
        ] {
            let answer = try await fixture.call(key).json("POST", path, body, 400)
            #expect(answer["code"].text == "malformed_json" && answer["detail"].text.contains("array"))
        }
        #expect(try await devices(fixture) == 0)
    }

    @Test("answers for every line behind one of 5 MiB")
    func longLine() async throws {
        let fixture = try await APIFixture.make()
        let body = String(repeating: "a", count: 5 << 20) + "\n" + Self.device
        let response = await fixture.call(fixture.app).send("POST", "/v1/devices", body)
        let answers = String(decoding: response.body, as: UTF8.self).split(separator: "\n")
        #expect(answers.count == 2)
        #expect(answers.first?.contains(#""code":"body_too_large""#) == true)
        #expect(answers.last?.contains(#""status":"stored""#) == true)
        #expect(try await devices(fixture) == 1)
    }

    @Test("is refused with 415 when it is compressed, in lines or not", arguments: ["gzip", "br, gzip", "X"])
    func compressed(coding: String) async throws {
        let fixture = try await APIFixture.make()
        var call = fixture.call(fixture.app)
        call.fields = ["content-encoding": coding]
        for (method, path) in [("POST", "/v1/devices"), ("PUT", "/v1/devices/d1")] {
            let response = await call.send(method, path, Self.device)
            #expect(response.status == 415 && response.fields["accept-encoding"] == "identity")
            #expect(String(decoding: response.body, as: UTF8.self).contains("unsupported_encoding"))
        }
        #expect(try await devices(fixture) == 0)
        call.fields = ["content-encoding": "Identity"]
        #expect(await call.send("POST", "/v1/devices", Self.device).status == 200)
    }
}

@Suite("Lines while PostgreSQL goes away", .database, .timeLimit(.minutes(5)))
struct LineOutageTests {
    /// Ends the database's connections for good after the first answer.
    final class Exchange: LineExchange {
        var pieces: [[UInt8]]
        var answers: [UInt8] = []
        let afterFirstAnswer: () async -> Void

        init(_ pieces: [String], _ afterFirstAnswer: @escaping () async -> Void) {
            self.pieces = pieces.map { Array($0.utf8) }
            self.afterFirstAnswer = afterFirstAnswer
        }

        func read() async throws -> [UInt8]? { pieces.isEmpty ? nil : pieces.removeFirst() }

        func write(_ bytes: [UInt8]) async throws {
            if answers.isEmpty { await afterFirstAnswer() }
            answers += bytes
        }
    }

    @Test("what was answered stays, the rest is refused as unavailable")
    func outage() async throws {
        let log = LogFixture()
        let fixture = try await APIFixture.make(log: log.logger("api"))
        func line(_ index: Int) -> String {
            #"{"activity":"a\#(index)","token":"\#(TestTokens.token(index))","environment":"sandbox","frequent_pushes_enabled":true}"#
                + "\n"
        }
        let tenant = try #require(TenantID(validating: fixture.tenant))
        let call = Call(
            request: HTTPRequest(method: "POST", authority: "", target: ""),
            requestID: "r1",
            target: RequestTarget("/v1/matches/m1/activities"),
            parameters: ["match": "m1"],
            role: .app,
            tenantID: tenant,
            deadline: .patient,
            now: APIFixture.now
        )
        let store = fixture.store
        let pieces = (0..<3).map { piece in
            (0..<LineReader.batch).map { line(piece * LineReader.batch + $0) }.joined()
        }
        let exchange = Exchange(pieces) { await store.api.shutdown() }
        try await fixture.api.postActivityLines(call, exchange)
        let answers = String(decoding: exchange.answers, as: UTF8.self).split(separator: "\n")
        #expect(answers.count == 3 * LineReader.batch)
        #expect(answers.prefix(LineReader.batch).allSatisfy { $0.contains(#""status":"stored""#) })
        #expect(
            answers.dropFirst(LineReader.batch).allSatisfy { $0.contains(#""status":"refused","code":"unavailable""#) }
        )
        let count = try await TestDatabase.current.pool().query(
            "SELECT count(*) FROM activities",
            [],
            by: .patient
        )
        #expect(count[0].int(0) == Int64(LineReader.batch))
        let lines = log.lines()
        #expect(lines.count == 1 && lines[0].contains("warning api: a call failed; status=503 request_id=r1"))
    }
}
