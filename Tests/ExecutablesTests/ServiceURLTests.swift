import Executables
import Testing

@Suite("The address of a service")
struct ServiceURLTests {
    @Test(
        "is read",
        arguments: [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://scores.example/", "https://scores.example:443"),
            ("http://[::1]:9", "http://[::1]:9"), ("http://localhost", "http://localhost:80"),
        ]
    )
    func reads(text: String, shown: String) throws {
        #expect(try ServiceURL(text).text == shown)
    }

    @Test(
        "is refused",
        arguments: ["", "localhost:8080", "ftp://x", "http://", "http://a/b", "http://a:0", "http://a:x"]
    )
    func refuses(text: String) {
        #expect(throws: Failure.self) { try ServiceURL(text) }
    }

    @Test("has paths whose segments are encoded")
    func encodes() {
        #expect(ServiceURL.segment("worldcup-2022/64 ñ+=") == "worldcup-2022%2F64%20%C3%B1%2B%3D")
    }
}
