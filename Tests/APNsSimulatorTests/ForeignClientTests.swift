import APNsSimulator
import EventLoop
import TestSupport
import Testing

/// Programs that nobody here wrote; those that are not installed are left out.
@Suite("A simulator asked by other programs", .timeLimit(.minutes(1)))
struct ForeignClientTests {
    private func run(_ program: String, _ arguments: [String]) async throws -> String {
        let path = try #require(ChildProcess.find(program))
        let (ending, output) = try await ChildProcess.run(.init(path, arguments), by: .patient)
        #expect(ending == .exited(0), "\(program): \(output)")
        return output
    }

    private func with(_ lean: Bool, _ body: (SimulatorBench, _ url: String) async throws -> Void) async throws {
        let configure: (inout SimulatorConfiguration) -> Void = {
            ($0.isLean, $0.countsDoubles, $0.initialStreams) = (lean, lean, 100)
        }
        try await SimulatorBench.with(configure: configure) { bench in
            try await body(bench, "https://localhost:\(bench.simulator.port(.production, .push))/3/device/0a")
        }
    }

    @Test("curl gets its answer over HTTP/2, and a refusal with its reason", arguments: [false, true])
    func curl(lean: Bool) async throws {
        try await with(lean) { bench, url in
            let ca = bench.simulator.caFile
            let common = ["--silent", "--http2", "--cacert", ca, "-X", "POST", "-w", " %{http_version} %{http_code}"]
            let headers = [
                "authorization: \(bench.authorization)", "apns-push-type: liveactivity", "apns-priority: 5",
                "apns-topic: \(SimulatorBench.bundle).push-type.liveactivity",
            ]
            let push = common + headers.flatMap { ["-H", $0] } + ["-d", SimulatorBench.payload(1), url]
            #expect(try await run("curl", push) == " 2 200")
            try await bench.simulator.setFaults(#"{"rules":[{"do":{"status":410,"reason":"ExpiredToken"}}]}"#)
            let refused = try await run("curl", push)
            #expect(refused.hasPrefix(#"{"reason":"ExpiredToken","timestamp":"#))
            #expect(refused.hasSuffix(" 2 410"))
            let large = String(repeating: "x", count: 100_000)
            #expect(try await run("curl", common + ["-d", large, url]).hasSuffix(lean ? " 2 410" : " 2 413"))
        }
    }

    @Test("curl asks by HEAD, and gets a head without a body", arguments: ["/3/device/0a", "/", "/_sim/counts"])
    func head(path: String) async throws {
        try await SimulatorBench.with { bench in
            let port = bench.simulator.port(.production, .push)
            let host = path.hasPrefix("/_sim") ? bench.simulator.controlURL : "https://localhost:\(port)"
            let arguments = [
                "--silent", "--show-error", "--http2", "--cacert", bench.simulator.caFile, "--head", "-o", "/dev/null",
                "-w", "%{http_code} %{size_download} %{errormsg}", host + path,
            ]
            let answer = try await run("curl", arguments)
            #expect(answer == "405 0 ")
        }
    }

    @Test("h2load counts what we count", .enabled(if: ChildProcess.find("h2load") != nil))
    func h2load() async throws {
        try await with(true) { bench, url in
            let flags = ["-n", "5000", "-c", "4", "-m", "100", "-H", "apns-id: 123e4567-e89b-42d3-a456-426614174000"]
            let output = try await run("h2load", flags + [url])
            #expect(output.contains("5000 succeeded"))
            let counts = await bench.simulator.counts
            #expect(counts.answers == ["200": 5000])
            #expect(counts.doubledIDs == 4999)
        }
    }

    @Test(
        "nghttp reads every frame, one by one",
        .enabled(if: ChildProcess.find("nghttp") != nil),
        arguments: [false, true]
    )
    func nghttp(lean: Bool) async throws {
        try await with(lean) { bench, url in
            try await bench.simulator.setFaults(#"{"rules":[{"do":{"unknown_frame":true}}]}"#)
            // By address: where the name has ::1 too, nghttp calls it an error that nobody listens there.
            let address = url.replacing("//localhost:", with: "//127.0.0.1:")
            let output = try await run("nghttp", ["-v", "-H", ":method: POST", address])
            #expect(output.contains("SETTINGS_MAX_CONCURRENT_STREAMS"))
            #expect(output.contains(lean ? ":status: 200" : ":status: 403"))
            #expect(!output.contains("[ERROR]") && !output.contains("PROTOCOL_ERROR"))
        }
    }

    @Test(
        "openssl agrees on TLS 1.3 and h2, and takes the certificate",
        .enabled(if: ChildProcess.find("openssl") != nil)
    )
    func openssl() async throws {
        try await with(true) { bench, _ in
            let port = bench.simulator.port(.production, .push)
            let output = try await run(
                "openssl",
                ["s_client", "-connect", "localhost:\(port)", "-alpn", "h2", "-verify_return_error"]
                    + ["-verify_hostname", "localhost", "-CAfile", bench.simulator.caFile]
            )
            #expect(output.contains("ALPN protocol: h2"))
            #expect(output.contains("TLSv1.3"))
            #expect(output.contains("Verify return code: 0 (ok)") || output.contains("Verification: OK"))
        }
    }
}
