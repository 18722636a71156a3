import Crypto
import EventLoop
import Foundation
import HTTP2
import Testing

@Suite("A transport", .timeLimit(.minutes(5)))
struct TransportTests {
    private static let payload = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

    @Test("carries megabytes both ways, over TLS and without", arguments: [true, false])
    func carriesBytes(usesTLS: Bool) async throws {
        let fixture = try await Fixture(usesTLS: usesTLS)
        defer { fixture.end() }
        if usesTLS {
            await fixture.client.until { $0.alpn != nil }
            #expect(await fixture.client.alpn == "h2")
            await fixture.server.until { $0.alpn == "h2" }
        }
        await fixture.client.write(Self.payload)
        await fixture.server.write(Self.payload)
        await fixture.client.until { $0.received.count == Self.payload.count }
        await fixture.server.until { $0.received.count == Self.payload.count }
        #expect(await fixture.client.received == Self.payload)
        #expect(await fixture.server.received == Self.payload)
        #expect(await fixture.client.pendingBytes == 0)
    }

    @Test("keeps bytes back while the peer does not read, and loses none", arguments: [true, false])
    func keepsBytesWhilePeerPauses(usesTLS: Bool) async throws {
        let fixture = try await Fixture(usesTLS: usesTLS)
        defer { fixture.end() }
        if usesTLS { await fixture.server.until { $0.alpn != nil } }
        await fixture.server.pauseReading()
        await fixture.client.write(Self.payload)
        #expect(await fixture.client.pendingBytes > 1_000_000)
        await fixture.server.resumeReading()
        await fixture.server.until { $0.received.count == Self.payload.count }
        #expect(await fixture.server.received == Self.payload)
    }

    @Test("closes after what was written has gone out", arguments: [true, false])
    func closesAfterWriting(usesTLS: Bool) async throws {
        let fixture = try await Fixture(usesTLS: usesTLS)
        defer { fixture.end() }
        if usesTLS { await fixture.client.until { $0.alpn != nil } }
        await fixture.client.write(Self.payload)
        await fixture.client.closeAfterWriting()
        await fixture.server.until { $0.end != nil }
        #expect(await fixture.server.received == Self.payload)
        #expect(await fixture.server.end == "closed by the peer")
        #expect(await fixture.client.end == nil)
    }

    @Test("reads what a peer had sent before it went away, also when it takes no answers", arguments: [true, false])
    func readsBeforeEnding(usesTLS: Bool) async throws {
        let fixture = try await Fixture(usesTLS: usesTLS, serverLoop: TestLoops.held)
        defer { fixture.end() }
        if usesTLS {
            await fixture.client.until { $0.alpn != nil }
            await fixture.server.until { $0.alpn != nil }
        }
        await fixture.server.answerAlways([UInt8](repeating: 1, count: 20_000))
        let sent = Array(Self.payload.prefix(100_000))
        let gate = DispatchSemaphore(value: 0)
        TestLoops.held.perform { gate.wait() }
        await fixture.client.write(sent)
        await fixture.client.closeAfterWriting()
        gate.signal()
        await fixture.server.until { $0.end != nil }
        #expect(await fixture.server.received == sent)
    }

    @Test("refuses a certificate for another name and one of an unknown root")
    func refusesCertificates() async throws {
        let wrongName = try await Fixture(usesTLS: true, serverName: "example.com")
        defer { wrongName.end() }
        await wrongName.client.until { $0.end != nil }
        #expect(await wrongName.client.end?.contains("ostname mismatch") == true)

        let unknownRoot = try await Fixture(usesTLS: true, trustsSystemRoots: true)
        defer { unknownRoot.end() }
        await unknownRoot.client.until { $0.end != nil }
        #expect(await unknownRoot.client.end?.hasPrefix("certificate refused") == true)
        #expect(await unknownRoot.client.end?.contains("not among the system's roots (ca-certificates)") == true)
        // The alert has reached the peer, though the client closed at once.
        await unknownRoot.server.until { $0.end != nil }
        #expect(await unknownRoot.server.end?.contains("alert unknown ca") == true)
    }

    @Test("names the file that cannot be used")
    func namesUnusableFiles() throws {
        #expect(throws: TLSError.self) { try TLSContext.client(caFile: "/nonexistent.pem") }
        #expect(throws: TLSError.self) {
            try TLSContext.server(certificateFile: "/nonexistent.pem", keyFile: "/nonexistent.key", alpn: ["h2"])
        }
    }
}

/// Two ends on two loops, joined by a socket pair.
private struct Fixture {
    let client: TransportPeer
    let server: TransportPeer

    init(
        usesTLS: Bool,
        serverName: String = "localhost",
        trustsSystemRoots: Bool = false,
        serverLoop: EventLoop = TestLoops.far
    ) async throws {
        client = TransportPeer(loop: TestLoops.near)
        server = TransportPeer(loop: serverLoop)
        let (left, right) = makeSocketPair()
        guard usesTLS else {
            try await client.adopt(left, tls: nil, role: .client(serverName: serverName))
            try await server.adopt(right, tls: nil, role: .server)
            return
        }
        let directory = FileManager.default.temporaryDirectory.appending(path: "touchline-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let files = try TestCertificate.make(
            commonName: "localhost",
            dnsNames: ["localhost"],
            directory: directory.path
        )
        let clientTLS = try TLSContext.client(caFile: trustsSystemRoots ? nil : files.caFile)
        let serverTLS = try TLSContext.server(
            certificateFile: files.certificateFile,
            keyFile: files.keyFile,
            alpn: ["h2", "http/1.1"]
        )
        try await client.adopt(left, tls: clientTLS, role: .client(serverName: serverName))
        try await server.adopt(right, tls: serverTLS, role: .server)
    }

    func end() {
        Task { [client, server] in
            await client.close()
            await server.close()
        }
    }
}
