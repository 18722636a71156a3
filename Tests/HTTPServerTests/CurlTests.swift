import Crypto
import Foundation
import HTTP2
import HTTPServer
import Testing

@Suite("A server asked by the real curl", .timeLimit(.minutes(4)))
struct CurlTests {
    /// curl's version flags; the last two over TLS.
    enum Dialect: String, CaseIterable {
        case http11 = "--http1.1"
        case http2 = "--http2-prior-knowledge"
        /// Asks for an upgrade to h2c, which is not taken up (RFC 9113, 3.1).
        case upgrade = "--http2"
        case tls11 = "--http1.1 TLS"
        case tls2 = "--http2 TLS"

        var flag: String { String(rawValue.prefix { $0 != " " }) }
        var isTLS: Bool { rawValue.hasSuffix("TLS") }
        var version: String { self == .http2 || self == .tls2 ? "2" : "1.1" }
    }

    private func ask(
        _ dialect: Dialect,
        _ path: String,
        limits: HTTPLimits = HTTPLimits(),
        _ arguments: String...
    ) async throws -> Curl {
        var answer: Curl?
        let certificate = try TestLoops.makeCertificate()
        let tls = try TLSContext.server(
            certificateFile: certificate.certificateFile,
            keyFile: certificate.keyFile,
            alpn: ["h2", "http/1.1"]
        )
        try await withServer(tls: dialect.isTLS ? tls : nil, limits: limits) { server in
            let url = "\(dialect.isTLS ? "https" : "http")://localhost:\(server.port)\(path)"
            let format = "[%{http_version} %{http_code}]"
            answer = try await Curl.run(
                [dialect.flag, "--ipv4", "--cacert", certificate.caFile, "--write-out", format] + arguments + [url]
            )
        }
        return try #require(answer)
    }

    @Test("answers GET", arguments: Dialect.allCases)
    func get(dialect: Dialect) async throws {
        let answer = try await ask(dialect, "/a%2Fb?c", "--header", "X-Test: 1")
        #expect(answer.output == "GET /a%2Fb?c 0 1\n[\(dialect.version) 200]")
    }

    @Test("answers HEAD with the length and no body", arguments: Dialect.allCases)
    func head(dialect: Dialect) async throws {
        let answer = try await ask(dialect, "/", "--head")
        #expect(answer.output.lowercased().contains("content-length: 11\r\n"))
        #expect(answer.output.contains("date: ") && answer.output.hasSuffix("\r\n\r\n[\(dialect.version) 200]"))
    }

    @Test("answers 204 without a body", arguments: Dialect.allCases)
    func nothing(dialect: Dialect) async throws {
        #expect(try await ask(dialect, "/nothing").output == "[\(dialect.version) 204]")
    }

    @Test("takes a body of 3 MB, for which curl waits for 100 Continue", arguments: Dialect.allCases)
    func upload(dialect: Dialect) async throws {
        let answer = try await withFile(bytes: 3 << 20) { try await ask(dialect, "/", "--data-binary", "@\($0)") }
        #expect(answer.output == "POST / 3145728 -\n[\(dialect.version) 200]")
    }

    @Test("takes a chunked body", arguments: [Dialect.http11, .tls11])
    func chunked(dialect: Dialect) async throws {
        let answer = try await withFile(bytes: 300_000) { file in
            try await ask(dialect, "/", "--header", "Transfer-Encoding: chunked", "--data-binary", "@\(file)")
        }
        #expect(answer.output == "POST / 300000 -\n[1.1 200]")
    }

    @Test("answers 413 to a body over the limit, and curl gets to read why", arguments: Dialect.allCases)
    func tooLarge(dialect: Dialect) async throws {
        var limits = HTTPLimits()
        limits.maxBodyBytes = 1000
        let answer = try await withFile(bytes: 3 << 20) { [limits] file in
            try await ask(dialect, "/", limits: limits, "--header", "Expect:", "--data-binary", "@\(file)")
        }
        #expect(answer.output.contains(#""code":"body_too_large""#))
        #expect(answer.output.contains("[\(dialect.version) 413]"))
    }

    @Test("answers 431 to a header over the limit", arguments: Dialect.allCases)
    func headTooLarge(dialect: Dialect) async throws {
        var limits = HTTPLimits()
        limits.maxHeaderBytes = 1000
        let header = "X-Long: \(String(repeating: "a", count: 2000))"
        let answer = try await ask(dialect, "/", limits: limits, "--header", header)
        #expect(answer.output.hasSuffix("[\(dialect.version) 431]"))
    }

    @Test("sends a body of 8 MB", arguments: Dialect.allCases)
    func download(dialect: Dialect) async throws {
        let answer = try await ask(dialect, "/large", "--output", "/dev/null", "--write-out", "%{size_download}")
        #expect(answer.output == "8388608")
    }

    /// Without `--http2-prior-knowledge`: curl 7.88 cannot use such a connection twice, with no server.
    @Test("asks over one connection for several", arguments: [Dialect.http11, .upgrade, .tls11, .tls2])
    func keepAlive(dialect: Dialect) async throws {
        let answer = try await ask(
            dialect,
            "/[1-3]",
            "--write-out",
            "%{num_connects}",
            "--output",
            "/dev/null"
        )
        #expect(answer.output == "100")
    }

    private func withFile<Result>(bytes: Int, _ body: (String) async throws -> Result) async throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "touchline-\(UUID().uuidString)")
        try Data(repeating: 0x78, count: bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }
}
