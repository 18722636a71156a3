internal import EventLoop
internal import Foundation
internal import Glibc
internal import PostgreSQL
internal import Testing

/// A PgBouncer before the running test's database, as an administrator would set one up.
package struct PgBouncer: Sendable {
    /// libpq's form, for the same database through it.
    package let conninfo: String

    /// Runs `body` with one; it ends with it.
    ///
    /// - Parameters:
    ///   - mode: `session`, `transaction` or `statement`.
    ///   - settings: More lines of `pgbouncer.ini`.
    ///   - body: What is done through it.
    /// - Throws: What `body` throws, or when there is no PgBouncer to run.
    package static func with(
        mode: String,
        _ settings: [String] = [],
        _ body: (PgBouncer) async throws -> Void
    ) async throws {
        let folder = try #require(TemporaryFolder.make(prefix: "/tmp/touchline-bouncer-"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let database = TestDatabase.current
        func value(_ keyword: String) -> String? {
            database.conninfo.split(separator: " ").first { $0.hasPrefix("\(keyword)=") }
                .map { String($0.dropFirst(keyword.count + 2).dropLast()) }
        }
        let (host, user) = (try #require(value("host")), try #require(value("user")))
        let name = try #require(value("dbname"))
        let lines =
            [
                "[databases]", "* = host=\(host) port=\(value("port") ?? "5432") user=\(user)", "[pgbouncer]",
                "unix_socket_dir = \(folder)", "listen_port = 6432", "auth_type = any", "pool_mode = \(mode)",
                "logfile = \(folder)/log",
            ] + settings
        let file = "\(folder)/pgbouncer.ini"
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        var options = ChildProcess.Options(
            try #require(ChildProcess.find("pgbouncer", in: ["/usr/sbin"]), "apt-get install pgbouncer"),
            [file]
        )
        options.output = .discarded
        // It refuses to be root, and goes where the test server's user may.
        if geteuid() == 0, let entry = getpwnam("postgres") {
            options.user = "postgres"
            for path in [folder, file] { chown(path, entry.pointee.pw_uid, entry.pointee.pw_gid) }
        }
        let process = try ChildProcess.start(options)
        let bouncer = PgBouncer(conninfo: "host='\(folder)' port=6432 user='\(user)' dbname='\(name)'")
        do {
            try await bouncer.waitUntilItListens(process)
            try await body(bouncer)
        } catch {
            process.signal(SIGKILL)
            await process.waitForEnd()
            throw error
        }
        process.signal(SIGKILL)
        await process.waitForEnd()
    }

    /// Its socket's file is there a moment before it takes connections.
    private func waitUntilItListens(_ process: ChildProcess) async throws {
        let socket = conninfo.split(separator: "'")[1] + "/.s.PGSQL.6432"
        while !Self.takesConnections(String(socket)) {
            try #require(process.ending == nil, "PgBouncer ended at once")
            await Task.yield()
        }
    }

    private static func takesConnections(_ path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
        }
    }
}
