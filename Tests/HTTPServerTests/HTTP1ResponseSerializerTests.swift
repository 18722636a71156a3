import HTTP2
import HTTPServer
import Testing

@Suite("An HTTP/1.1 response on the wire")
struct HTTP1ResponseSerializerTests {
    private func text(_ response: HTTPResponse, isHead: Bool = false, closes: Bool = false, date: String? = nil)
        -> String
    {
        var output: [UInt8] = []
        HTTP1ResponseSerializer.append(response, isHead: isHead, closes: closes, date: date, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    private let hello = HTTPResponse(status: 200, fields: ["content-type": "text/plain"], body: Array("hello".utf8))

    @Test("has its length and its body")
    func plain() {
        #expect(text(hello) == "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello")
    }

    @Test("to HEAD has the length alone")
    func head() {
        #expect(text(hello, isHead: true).hasSuffix("content-length: 5\r\n\r\n"))
    }

    @Test("has no length where none may stand", arguments: [204, 304])
    func bodyless(status: Int) {
        let response = HTTPResponse(status: status, body: Array("x".utf8))
        #expect(text(response).hasSuffix("\r\n\r\n"))
        #expect(!text(response).contains("content-length"))
    }

    @Test("says close and the date, and leaves a handler's framing and line breaks out")
    func fields() {
        let response = HTTPResponse(
            status: 418,
            fields: ["content-length": "99", "transfer-encoding": "chunked", "x": "a\r\nSet-Cookie: b"]
        )
        #expect(
            text(response, closes: true, date: "now")
                == "HTTP/1.1 418 Status\r\nx: a  Set-Cookie: b\r\ndate: now\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    }
}
