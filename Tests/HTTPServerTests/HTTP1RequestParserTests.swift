import HTTP2
import HTTPServer
import Testing

private let host = "Host: a\r\n"

@Suite("An HTTP/1.1 parser with well-formed requests")
struct HTTP1AcceptingTests {
    @Test("reads a request without a body")
    func plain() {
        #expect(
            events(of: "GET /v1?x=%2F HTTP/1.1\r\nHost: a:80\r\nX-A:  b c\t\r\n\r\n") == [
                "GET a:80 /v1?x=%2F keep host=a:80&x-a=b c "
            ]
        )
    }

    @Test("reads a body by its length, and the pipelined request behind it")
    func pipelined() {
        let text = "POST /a HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\n\(host)\r\n"
        #expect(
            events(of: text) == [
                "POST a /a keep host=a&content-length=5 hello",
                "GET a /b keep host=a ",
            ]
        )
    }

    @Test("reads a chunked body, drops extensions and trailers")
    func chunked() {
        let head = "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: Chunked\r\n\r\n"
        let body = "3;a=b\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX-Trailer: 1\r\nContent-Length: 9\r\n\r\n"
        #expect(events(of: head + body) == ["POST a / keep host=a&transfer-encoding=Chunked abc0123456789"])
    }

    @Test("asks for the body of a client that waits for 100 Continue, before it comes")
    func expect() {
        var parser = HTTP1RequestParser(limits: HTTPLimits(), scheme: "http")
        parser.append("PUT / HTTP/1.1\r\n\(host)Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n".utf8)
        #expect(parser.drain() == ["continue"])
        #expect(parser.phase == .body)
        parser.append("ok".utf8)
        #expect(parser.drain() == ["PUT a / keep host=a&expect=100-Continue&content-length=2 ok"])
        #expect(parser.phase == .idle)
    }

    @Test("does not ask for a body that is not there")
    func expectNothing() {
        #expect(events(of: "GET / HTTP/1.1\r\n\(host)Expect: 100-continue\r\n\r\n").count == 1)
    }

    @Test("ends after a request that says close, whatever follows")
    func close() {
        let text = "GET / HTTP/1.1\r\n\(host)Connection: x, Close\r\n\r\nGET /b HTTP/1.1\r\n\(host)\r\n"
        #expect(events(of: text) == ["GET a / close host=a&connection=x, Close "])
    }

    @Test("answers HTTP/1.0 once, with or without Host")
    func version10() {
        #expect(
            events(of: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") == [
                "GET  / close connection=keep-alive "
            ]
        )
        #expect(events(of: "POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nx").count == 1)
    }

    @Test(
        "takes the authority of an absolute target",
        arguments: [
            ("http://b:8080/x?y", "b:8080 /x?y"), ("HTTPS://b", "b /"), ("http://b?q=1", "b /?q=1"),
        ]
    )
    func absolute(target: String, expected: String) {
        #expect(events(of: "GET \(target) HTTP/1.1\r\n\(host)\r\n") == ["GET \(expected) keep host=a "])
    }

    @Test("takes OPTIONS *, one empty line before a request, UTF-8 in a value, and an empty value")
    func oddities() {
        #expect(events(of: "OPTIONS * HTTP/1.1\r\n\(host)\r\n") == ["OPTIONS a * keep host=a "])
        #expect(events(of: "\r\nGET / HTTP/1.1\r\n\(host)X: ñ\r\nY:\r\n\r\n") == ["GET a / keep host=a&x=ñ&y= "])
        #expect(events(of: "GET / HTTP/1.1\r\n\(host)\r\n\r\nGET / HTTP/1.1\r\n\(host)\r\n").count == 2)
    }

    @Test("tells what it waits for")
    func phases() {
        var parser = HTTP1RequestParser(limits: HTTPLimits(), scheme: "http")
        #expect(parser.phase == .idle)
        for (piece, phase) in [
            ("P", HTTP1RequestParser.Phase.head), ("OST / HTTP/1.1\r\n", .head),
            ("\(host)Content-Length: 2\r\n\r\n", .body),
            ("x", .body), ("y", .idle), ("?", .ended),
        ] {
            parser.append(piece.utf8)
            _ = parser.drain()
            if piece == "?" { #expect(parser.bufferedBytes == 0) }
            #expect(parser.phase == phase, "after \(piece)")
        }
    }

    @Test("gives a body in pieces where that is asked for, and the next request behind it", arguments: [1, 7, 4096])
    func streamed(longest: Int) {
        var parser = HTTP1RequestParser(limits: HTTPLimits(), scheme: "http") { $0.target == "/s" ? 20 : nil }
        let text =
            "POST /s HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhello"
            + "POST /s HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
            + "POST /s HTTP/1.1\r\n\(host)\r\nGET / HTTP/1.1\r\n\(host)\r\n"
            + "POST /s HTTP/1.1\r\n\(host)Content-Length: 21\r\n\r\n"
        var events: [String] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            parser.append(rest.prefix(longest))
            rest = rest.dropFirst(longest)
            events += parser.drain()
        }
        let parts = events.compactMap { $0.hasPrefix("part") ? Int($0.dropFirst(5)) : nil }
        #expect(parts.reduce(0, +) == 12)
        #expect(
            events.filter { !$0.hasPrefix("part") } == [
                "stream POST /s", "end", "stream POST /s", "end", "stream POST /s", "end", "GET a / keep host=a ",
                "refused 413",
            ]
        )
    }
}
