import EventLoop
import Foundation
import PostgreSQL
import Testing

@Suite("An embedded cluster", .timeLimit(.minutes(5)))
struct EmbeddedClusterTests {
    private let deadline = ContinuousClock.now + .seconds(200)

    /// A folder that goes when the test ends; `body` gets a loop and a configuration.
    private func withFolder(
        _ name: String = "data",
        _ body: (EmbeddedCluster.Configuration, EventLoop) async throws -> Void
    ) async throws {
        let parent = FileManager.default.temporaryDirectory.appending(path: "touchline-cluster-\(UUID())")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        let loop = try EventLoop(name: "cluster test")
        try await body(EmbeddedCluster.Configuration(directory: parent.appending(path: name).path), loop)
    }

    private func count(_ cluster: EmbeddedCluster, on loop: EventLoop, adding: Bool) async throws -> Int64 {
        let connection = try await PGConnection.connect(cluster.connectionString, on: loop, by: deadline)
        defer { Task { await connection.close() } }
        _ = try await connection.query("CREATE TABLE IF NOT EXISTS t (a int)", by: deadline)
        if adding { _ = try await connection.query("INSERT INTO t VALUES (1)", by: deadline) }
        return try await connection.query("SELECT count(*) FROM t", by: deadline)[0].int(0)
    }

    private func socketFolder(_ cluster: EmbeddedCluster) throws -> String {
        let host = try #require(cluster.connectionString.split(separator: " ").first { $0.hasPrefix("host=") })
        return String(host.dropFirst(5))
    }

    @Test("keeps its rows from one start to the next, and leaves no socket behind")
    func restart() async throws {
        // Deeper than a socket's path may be long.
        try await withFolder(String(repeating: "a/deep/folder/", count: 12) + "data") { configuration, loop in
            let first = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(!first.wasTakenOver)
            #expect(try await count(first, on: loop, adding: true) == 1)
            let folder = try socketFolder(first)
            let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int
            #expect(mode == 0o700)
            #expect(folder.utf8.count < 40)
            #expect(await first.stop(by: deadline))
            #expect(!FileManager.default.fileExists(atPath: folder))
            let second = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(try await count(second, on: loop, adding: true) == 2)
            #expect(await second.stop(by: deadline))
        }
    }

    @Test("is taken over when its server outlived the process that started it")
    func takeOver() async throws {
        try await withFolder { configuration, loop in
            let first = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(try await count(first, on: loop, adding: true) == 1)
            let second = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(second.wasTakenOver)
            #expect(second.processID == first.processID)
            #expect(try await count(second, on: loop, adding: true) == 2)
            #expect(await second.stop(by: deadline))
        }
    }

    @Test("starts though a dead server's file, or another process's number, is in the way")
    func staleFile() async throws {
        try await withFolder { configuration, loop in
            let first = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            let file = configuration.directory + "/postgres/postmaster.pid"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(await first.stop(by: deadline))
            // This test's own process, which is alive and no PostgreSQL.
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
            let stale = (["\(ProcessInfo.processInfo.processIdentifier)"] + lines.map(String.init)).joined(
                separator: "\n"
            )
            try stale.write(toFile: file, atomically: false, encoding: .utf8)
            let second = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(!second.wasTakenOver)
            #expect(await second.stop(by: deadline))
        }
    }

    @Test("starts again under the same address when its server is killed")
    func killedServer() async throws {
        try await withFolder { configuration, loop in
            let cluster = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(try await count(cluster, on: loop, adding: true) == 1)
            let killed = cluster.processID
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await cluster.keepRunning { _ in } }
                kill(killed, SIGKILL)
                var rows: Int64?
                while rows == nil || cluster.processID == killed, .now < deadline {
                    rows = try? await count(cluster, on: loop, adding: false)
                }
                #expect(rows == 1)
                group.cancelAll()
            }
            #expect(cluster.processID != killed)
            #expect(await cluster.stop(by: deadline))
        }
    }

    @Test("lies elsewhere when the database's user cannot enter the folder", .enabled(if: geteuid() == 0))
    func closedFolder() async throws {
        try await withFolder("closed/data") { configuration, loop in
            let closed = URL(filePath: configuration.directory).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: closed, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: closed.path)
            let first = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(first.remarks.count == 1)
            #expect(try await count(first, on: loop, adding: true) == 1)
            #expect(await first.stop(by: deadline))
            let second = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            #expect(try await count(second, on: loop, adding: false) == 1)
            #expect(await second.stop(by: deadline))
            let location = try String(contentsOfFile: configuration.directory + "/postgres.location", encoding: .utf8)
            try FileManager.default.removeItem(atPath: location.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    @Test("goes with its files when it is disposable")
    func disposable() async throws {
        try await withFolder { configuration, loop in
            var configuration = configuration
            configuration.isDisposable = true
            let cluster = try await EmbeddedCluster.start(configuration, on: loop, by: deadline)
            let folder = try socketFolder(cluster)
            await cluster.stop(by: deadline)
            #expect(!FileManager.default.fileExists(atPath: configuration.directory))
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }
}
