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
        #expect(splitter.append(Array("\nb\n".utf8)) == [.tooLong, .bytes([0x62])])
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
