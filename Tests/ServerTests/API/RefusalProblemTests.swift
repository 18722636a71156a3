import Core
import HTTP2
import HTTPServer
import Testing

@testable import Server

@Suite("What is refused before a handler sees it")
struct RefusalProblemTests {
    @Test("says HTTP's own status in its problem too", arguments: [400, 408, 413, 414, 417, 431, 500, 501, 505])
    func status(status: Int) async throws {
        let response = HTTPResponse.problem(Problem(HTTPRefusal(status, "because")))
        #expect(response.status == status)
        let answer = JSONAnswer(try JSONScanner.read(response.body), response)
        #expect(answer["status"].raw == String(status))
        #expect(answer["detail"].text == "because")
        let code = status == 413 ? "body_too_large" : status == 500 ? "internal_error" : "bad_request"
        #expect(answer["code"].text == code)
        // Without the API's words, on the listener of metrics.
        let plain = HTTPRefusal(status, "because").problem
        #expect(JSONAnswer(try JSONScanner.read(plain.body), plain)["status"].raw == String(status))
    }
}
