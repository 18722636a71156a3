import COpenSSL
import Crypto
import EventLoop
import Foundation
import Glibc
import TestSupport
import Testing

@testable import HTTP2

@Suite("A peer that asks for a second handshake on a connection of TLS 1.2", .timeLimit(.minutes(5)))
struct RenegotiationTests {
    @Test("is left at once, and told so")
    func isRefused() async throws {
        let folder = try #require(TemporaryFolder.make(prefix: "/tmp/touchline-tests-"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = try TestCertificate.make(directory: folder)
        let client = TransportPeer(loop: TestLoops.near)
        let (left, right) = makeSocketPair()
        let server = try RenegotiatingServer(descriptor: right, files: files)
        try await client.adopt(left, tls: .client(caFile: files.caFile), role: .client(serverName: "localhost"))
        server.start()
        await client.until { $0.end != nil }
        // The first handshake was good.
        #expect(await client.alpn == "none")
        #expect(await client.received == [1])
        #expect(await client.end == "the peer asked for a renegotiation of TLS, which HTTP/2 forbids (RFC 9113, 9.2.1)")
        #expect(server.waitForError() == "no renegotiation")
    }
}

/// OpenSSL's server on a thread of its own: answers the handshake, sends a byte, and asks for another handshake.
private final class RenegotiatingServer: @unchecked Sendable {
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let descriptor: Int32
    // Written by the thread before it signals, read after that.
    private var error = ""
    private let done = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init(descriptor: Int32, files: TestCertificate) throws {
        self.descriptor = descriptor
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)
        sem_init(done, 0, 0)
        guard let context = SSL_CTX_new(TLS_server_method()), let ssl = SSL_CTX_usable(context, files) else {
            throw TLSError.library(drainTLSErrors())
        }
        self.context = context
        self.ssl = ssl
        SSL_set_fd(ssl, descriptor)
    }

    func start() {
        Thread.detachNewThread { [self] in
            let byte: UInt8 = 1
            if SSL_accept(ssl) == 1, SSL_write(ssl, [byte], 1) == 1, SSL_renegotiate(ssl) == 1 {
                _ = SSL_do_handshake(ssl)
                // The question is out; what comes back is the answer.
                var buffer = [UInt8](repeating: 0, count: 16)
                while SSL_read(ssl, &buffer, 16) > 0 {}
            }
            error = drainTLSErrors()
            sem_post(done)
        }
    }

    func waitForError() -> String {
        sem_wait(done)
        return error
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
        close(descriptor)
        sem_destroy(done)
        done.deallocate()
    }
}

private func SSL_CTX_usable(_ context: OpaquePointer, _ files: TestCertificate) -> OpaquePointer? {
    guard SSL_CTX_use_certificate_chain_file(context, files.certificateFile) == 1,
        SSL_CTX_use_PrivateKey_file(context, files.keyFile, SSL_FILETYPE_PEM) == 1
    else { return nil }
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    return SSL_new(context)
}
