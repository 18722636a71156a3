import EventLoop
import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite("A connection string with several servers", .emptyDatabase, .timeLimit(.minutes(5)))
struct ServerChoiceTests {
    private var soon: ContinuousClock.Instant { .now + .seconds(20) }

    /// The test server's string, with a server before it.
    private func behind(_ host: String, _ port: UInt16, attributes: String = "") throws -> String {
        let own = TestDatabase.current.conninfo
        func value(_ keyword: String) -> String? {
            own.split(separator: " ").first { $0.hasPrefix("\(keyword)=") }
                .map { String($0.dropFirst(keyword.count + 2).dropLast()) }
        }
        let ownHost = try #require(value("host"))
        let rest = own.split(separator: " ").filter { !$0.hasPrefix("host=") && !$0.hasPrefix("port=") }
        return
            "host=\(host),\(ownHost) port=\(port),\(value("port") ?? "5432") \(attributes) \(rest.joined(separator: " "))"
    }

    @Test("is used as far as the first that answers, past one that refuses and one whose name is unknown")
    func refusing() async throws {
        for host in ["127.0.0.1", "no-such-host.invalid"] {
            let connection = try await PGConnection.connect(
                try behind(host, 1),
                on: TestDatabase.current.loop,
                by: soon
            )
            #expect(try await connection.query("SELECT 1", by: soon).count == 1)
            await connection.close()
        }
    }

    @Test("leaves a share of the time to the others when the first does not answer")
    func silent() async throws {
        // Connections get into its queue, and nobody takes them out.
        let listener = try SilentListener()
        defer { listener.close() }
        let connection = try await PGConnection.connect(
            try behind("127.0.0.1", listener.port),
            on: TestDatabase.current.loop,
            by: .now + .seconds(4)
        )
        #expect(try await connection.query("SELECT 1", by: soon).count == 1)
        await connection.close()
    }

    @Test("means the one that takes writes, unless it says otherwise")
    func standby() async throws {
        let connection = try await TestDatabase.current.connect()
        let name = try await connection.query("SELECT current_database()", by: soon)[0].text(0)
        _ = try await connection.query("ALTER DATABASE \"\(name)\" SET default_transaction_read_only = on", by: soon)
        await connection.close()
        await #expect(throws: PGError.self) {
            try await PGConnection.connect(try behind("127.0.0.1", 1), on: TestDatabase.current.loop, by: soon)
        }
        let reader = try await PGConnection.connect(
            try behind("127.0.0.1", 1, attributes: "target_session_attrs=any"),
            on: TestDatabase.current.loop,
            by: soon
        )
        #expect(try await reader.query("SELECT 1", by: soon).count == 1)
        await reader.close()
    }
}

/// A port that takes connections and says nothing.
private struct SilentListener {
    private let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
    }

    func close() { _ = Glibc.close(descriptor) }
}
