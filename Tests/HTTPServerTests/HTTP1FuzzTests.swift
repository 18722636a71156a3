import HTTPServer
import Testing

/// Requests, right and wrong, that the generators below cut and bend.
private let seeds: [String] = [
    "GET /v1?x HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world"
        + "GET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nrest",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        + "5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "y", count: 40_000))\r\n\r\n",
    "GET /\(String(repeating: "y", count: 8_300)) HTTP/1.1\r\nHost: a\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n\r\n",
]

@Suite("An HTTP/1.1 parser with bytes cut and bent at random")
struct HTTP1FuzzTests {
    @Test("tells the same however the bytes are cut", arguments: seeds.indices)
    func cuts(seed: Int) {
        let bytes = Array(seeds[seed].utf8)
        let whole = events(of: bytes)
        var generator = SeededGenerator(state: UInt64(seed))
        for longest in [1, 2, 3, 7, 64, 4096] {
            for _ in 0..<(longest == 1 ? 1 : 8) {
                #expect(cutEvents(of: bytes, longest: longest, using: &generator) == whole)
            }
        }
    }

    @Test("tells the same for bent bytes however they are cut, and never traps", arguments: 0..<16)
    func mutations(seed: UInt64) {
        var generator = SeededGenerator(state: seed &* 0x1234_5678_9ABC_DEF1)
        for _ in 0..<200 {
            var bytes = Array(seeds[Int.random(in: 0..<3, using: &generator)].utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) { bend(&bytes, using: &generator) }
            let whole = events(of: bytes)
            #expect(cutEvents(of: bytes, longest: 5, using: &generator) == whole, "\(bytes)")
        }
    }

    private func cutEvents(
        of bytes: [UInt8],
        longest: Int,
        using generator: inout SeededGenerator
    ) -> [String] {
        var parser = HTTP1RequestParser(limits: HTTPLimits(), scheme: "http")
        var events: [String] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...longest, using: &generator)
            parser.append(rest.prefix(count))
            rest = rest.dropFirst(count)
            events += parser.drain()
        }
        return events
    }
}
