import HTTPServer
import Testing

private let host = "Host: a\r\n"

private typealias Refused = (text: String, status: Int)

private let chunkedHead = "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n"

private let refusedRequestLines: [Refused] = [
    ("GET  / HTTP/1.1\r\n", 400), (" GET / HTTP/1.1\r\n", 400), ("GET / HTTP/1.1 \r\n", 400),
    ("GET /\r\n", 400), ("GET\t/ HTTP/1.1\r\n", 400), ("G@T / HTTP/1.1\r\n", 400), ("/ HTTP/1.1\r\n", 400),
    ("GET x HTTP/1.1\r\n", 400), ("GET * HTTP/1.1\r\n", 400), ("GET /a#b HTTP/1.1\r\n", 400),
    ("GET /ñ HTTP/1.1\r\n", 400), ("GET /\u{7F} HTTP/1.1\r\n", 400), ("GET ftp://a/ HTTP/1.1\r\n", 400),
    ("GET http:///x HTTP/1.1\r\n", 400), ("GET http://u@h/x HTTP/1.1\r\n", 400),
    ("GET / http/1.1\r\n", 400), ("GET / HTTP/11\r\n", 400), ("GET / HTTP/1.1.1\r\n", 400),
    ("GET / HTTP/2.0\r\n", 505), ("PRI * HTTP/2.0\r\n", 505), ("GET / HTTP/0.9\r\n", 505),
    ("GET / HTTP/1.2\r\n", 505), ("CONNECT a:443 HTTP/1.1\r\n", 501),
    ("\(String(repeating: "M", count: 33)) / HTTP/1.1\r\n", 501),
    ("GET /\(String(repeating: "a", count: 8192)) HTTP/1.1\r\n", 414),
    ("GET /\(String(repeating: "a", count: 9000))", 414),
    ("\u{16}\u{03}", 400), ("\r\n\r\nGET / HTTP/1.1\r\n", 400), ("\n", 400), ("\rGET / HTTP/1.1\r\n", 400),
]

private let refusedLineEnds: [Refused] = [
    ("GET / HTTP/1.1\n", 400), ("GET / HTTP/1.1\r\nHost: a\n", 400), ("GET / HTTP/1.1\r\nX: a\rb\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
]

private let refusedFields: [Refused] = [
    ("GET / HTTP/1.1\r\nHost : a\r\n", 400), ("GET / HTTP/1.1\r\nHost\t: a\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: a\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n", 400), ("GET / HTTP/1.1\r\n: a\r\n", 400),
    ("GET / HTTP/1.1\r\nHost\r\n", 400), ("GET / HTTP/1.1\r\nX: a\0b\r\n", 400),
    ("GET / HTTP/1.1\r\nX(: a\r\n", 400), ("GET / HTTP/1.1\r\nÑ: a\r\n", 400),
]

private let refusedHosts: [Refused] = [
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\(host)\(host)\r\n", 400),
    ("GET / HTTP/1.1\r\n\(host)Host: b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
]

private let refusedLengths: [Refused] = [
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 5, 5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: +5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: -5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 0x5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 5 5\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length:\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: ५\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 16777217\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\n\(host)Content-Length: 99999999999999999999999\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: identity\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: xchunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: \"chunked\"\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding:\r\n\r\n", 501),
    ("POST / HTTP/1.0\r\n\(host)Transfer-Encoding: chunked\r\n\r\n", 400),
]

private let refusedChunks: [Refused] = [
    ("\(chunkedHead)x\r\n", 400), ("\(chunkedHead)\r\n", 400), ("\(chunkedHead)5 \r\nhello\r\n", 400),
    ("\(chunkedHead) 5\r\nhello\r\n", 400), ("\(chunkedHead)+5\r\n", 400), ("\(chunkedHead)0x5\r\n", 400),
    ("\(chunkedHead)-1\r\n", 400), ("\(chunkedHead)5\nhello\r\n", 400), ("\(chunkedHead)5\r\nhelloX\r\n", 400),
    ("\(chunkedHead)5\r\nhello\n", 400), ("\(chunkedHead)5;a\nb\r\n", 400), ("\(chunkedHead)5;a\rb\r\n", 400),
    ("\(chunkedHead)00000000000000005\r\n", 400), ("\(chunkedHead)FFFFFFFFFFFFFFFF\r\n", 413),
    ("\(chunkedHead)1000001\r\n", 413), ("\(chunkedHead)5;\(String(repeating: "a", count: 300))\r\n", 400),
    ("\(chunkedHead)0\r\nX : 1\r\n", 400), ("\(chunkedHead)0\r\n folded\r\n", 400),
    ("\(chunkedHead)0\r\nX: \(String(repeating: "a", count: 33_000))", 431),
]

private let refusedSizes: [Refused] = [
    ("GET / HTTP/1.1\r\n\(host)X: \(String(repeating: "a", count: 33_000))", 431),
    ("GET / HTTP/1.1\r\n\(String(repeating: "X: a\r\n", count: 101))", 431),
    ("GET / HTTP/1.1\r\n\(host)Expect: 200-ok\r\n\r\n", 417),
]

@Suite("An HTTP/1.1 parser with requests that are refused")
struct HTTP1RefusingTests {
    @Test(
        "answers with the right status",
        arguments: [
            refusedRequestLines, refusedLineEnds, refusedFields, refusedHosts, refusedLengths, refusedChunks,
            refusedSizes,
        ].joined()
    )
    func refuses(text: String, status: Int) {
        #expect(events(of: text) == ["refused \(status)"])
    }

    @Test("refuses a value that is not UTF-8")
    func invalidUTF8() {
        #expect(events(of: Array("GET / HTTP/1.1\r\nX: ".utf8) + [0xC3, 0x28, 0x0D, 0x0A]) == ["refused 400"])
    }

    @Test("refuses chunks that grow past the limit together, and chunk extensions without end")
    func sums() {
        var limits = HTTPLimits()
        limits.maxBodyBytes = 9
        #expect(events(of: "\(chunkedHead)5\r\nhello\r\n5\r\n", limits: limits) == ["refused 413"])
        let piece = "1;\(String(repeating: "e", count: 200))\r\nx\r\n"
        #expect(events(of: chunkedHead + String(repeating: piece, count: 30)) == ["refused 400"])
    }

    @Test("says nothing more after a refusal: the bytes behind it may be smuggled")
    func silenceAfterwards() {
        var parser = HTTP1RequestParser(limits: HTTPLimits(), scheme: "http")
        parser.append("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\(host)\r\n".utf8)
        #expect(parser.drain() == ["refused 400"])
        parser.append("GET / HTTP/1.1\r\n\(host)\r\n".utf8)
        #expect(parser.drain().isEmpty)
        #expect(parser.phase == .ended)
    }
}
