import EventLoop
import Foundation
import HTTP2
import Log
import PostgreSQL
import Server
import Store
import Synchronization
import TestSupport
import Testing

/// A service in this process, on the running test's database.
private struct RunningService: Sendable {
    let url: String
    let metricsPort: Int
    let port: Int
    let stop: StopRequest
    let loop: EventLoop

    static func with(
        conninfo: String = TestDatabase.current.conninfo,
        flags: [String: String] = [:],
        log: LogFixture? = nil,
        _ body: (RunningService) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "touchline-service-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let ready = folder.appending(path: "ready.json").path
        let settings = try settings(conninfo, flags.merging(["--ready-file": ready]) { $1 })
        let stop = StopRequest()
        let loop = TestDatabase.current.loop
        async let ended: Void = Service(settings: settings, log: log?.output).run(until: stop)
        do {
            try await body(try await started(ready, stop: stop, loop: loop))
        } catch {
            stop.request()
            try await ended
            throw error
        }
        stop.request()
        try await ended
        #expect(!FileManager.default.fileExists(atPath: ready))
    }

    static func settings(_ conninfo: String, _ flags: [String: String]) throws -> Settings {
        let key = Data((0..<32).map { UInt8($0) }).base64EncodedString()
        let flags = ["--listen": "127.0.0.1:0", "--metrics-listen": "127.0.0.1:0"].merging(flags) { $1 }
        return try Settings(
            Settings.Source(
                value: { flags[$0] },
                isOn: { _ in false },
                environment: ["DATABASE_URL": conninfo, "TOUCHLINE_MASTER_KEY": key, "HOME": "/nowhere"],
                isRoot: false
            )
        )
    }

    private static func started(_ file: String, stop: StopRequest, loop: EventLoop) async throws -> RunningService {
        struct Ready: Decodable {
            let url: String?
            let metrics_url: String
            let pid: Int32
        }
        let deadline = ContinuousClock.now + .seconds(120)
        while .now < deadline {
            guard let data = FileManager.default.contents(atPath: file) else {
                await Task.yield()
                continue
            }
            let ready = try JSONDecoder().decode(Ready.self, from: data)
            #expect(ready.pid == ProcessInfo.processInfo.processIdentifier)
            let ports = try [ready.url ?? "http://none:1", ready.metrics_url].map {
                try #require(URL(string: $0)?.port)
            }
            return RunningService(
                url: ready.url ?? "",
                metricsPort: ports[1],
                port: ports[0],
                stop: stop,
                loop: loop
            )
        }
        throw PGError(.deadline, "the service did not start")
    }

    func get(_ path: String, metrics: Bool = false, key: String? = nil) async throws -> HTTPResponse {
        let deadline = ContinuousClock.now + .seconds(120)
        let client = try await HTTP2Client.connect(
            host: "127.0.0.1",
            port: metrics ? metricsPort : port,
            tls: nil,
            on: loop,
            by: deadline
        )
        var fields: HTTPFields = [:]
        if let key { fields.set("authorization", "Bearer \(key)") }
        let request = HTTPRequest(
            method: "GET",
            scheme: "http",
            authority: "127.0.0.1",
            target: path,
            fields: fields,
            body: []
        )
        let response = try await client.send(request, by: deadline)
        await client.close()
        return response
    }
}

@Suite("A service", .emptyDatabase, .timeLimit(.minutes(5)))
struct ServiceTests {
    @Test("makes its tables, serves, and ends when it is told to")
    func life() async throws {
        let log = LogFixture()
        try await RunningService.with(log: log) { service in
            #expect(try await service.get("/healthz").status == 200)
            #expect(try await service.get("/readyz").status == 200)
            #expect(try await service.get("/readyz", metrics: true).status == 200)
            #expect(try await service.get("/v1/tenants").status == 401)
            let metrics = try await service.get("/metrics", metrics: true)
            let text = String(decoding: metrics.body, as: UTF8.self)
            #expect(text.contains("touchline_database_reachable 1"))
            #expect(text.contains(#"touchline_pushes_total{outcome="accepted"} 0"#))
            // Known once the counts were looked at.
            var whole = text
            while !whole.contains("touchline_versions_off") {
                whole = String(decoding: try await service.get("/metrics", metrics: true).body, as: UTF8.self)
            }
            try MetricsPage.check(whole)
        }
        // Again, on tables that are there.
        try await RunningService.with { service in
            let answer = try await service.get("/readyz")
            #expect(answer.status == 200)
        }
    }

    @Test("answers 503 while PostgreSQL is away, and goes on when it is back")
    func databaseAway() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "touchline-away-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = EmbeddedCluster.Configuration(directory: folder.path)
        let loop = TestDatabase.current.loop
        let cluster = try await EmbeddedCluster.start(configuration, on: loop, by: .patient)
        let log = LogFixture()
        try await RunningService.with(conninfo: cluster.connectionString, log: log) { service in
            let connection = try await PGConnection.connect(
                cluster.connectionString,
                on: loop,
                by: .now + .seconds(120)
            )
            let key = try await Store.createOperatorKey(on: connection, by: .now + .seconds(120)).text
            #expect(try await service.get("/v1/tenants", key: key).status == 200)
            await withTaskGroup(of: Void.self) { group in
                kill(cluster.processID, SIGKILL)
                // Its backends end a moment after it; then every call must fail at once.
                var away = try? await service.get("/v1/tenants", key: key)
                while away?.status == 200 { away = try? await service.get("/v1/tenants", key: key) }
                #expect(away?.status == 503)
                #expect(away?.fields["retry-after"] != nil)
                group.addTask { await cluster.keepRunning { _ in } }
                let deadline = ContinuousClock.Instant.patient
                var back = away
                while back?.status == 503, .now < deadline { back = try? await service.get("/v1/tenants", key: key) }
                #expect(back?.status == 200)
                group.cancelAll()
                let id = away?.fields["x-request-id"] ?? "none"
                _ = await log.line(with: "warning api: a call failed; status=503 request_id=\(id)")
                _ = await log.line(with: "database: PostgreSQL can")
            }
        }
        let lines = log.all()
        #expect(lines.contains { $0.contains("service: serving; url=http://127.0.0.1:") })
        #expect(lines.contains { $0.contains("service: draining; at_most_s=20 ") })
        #expect(lines.contains { $0.contains("service: drained; took_s=") })
        #expect(lines.contains { $0.hasSuffix("info service: stopped") })
        await cluster.stop(by: .now + .seconds(120))
    }

    @Test("says how far it is behind in every process, whatever parts that takes", arguments: ["api", "housekeeping"])
    func oldestDue(role: String) async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await Store.migrator.run(on: connection, by: .patient)
        try await RunningService.with(flags: ["--roles": role]) { service in
            func oldest() async throws -> Double? {
                let metrics = try await service.get("/metrics", metrics: true)
                let lines = String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
                let line = lines.first { $0.hasPrefix("touchline_oldest_due_seconds ") }
                return line?.split(separator: " ").last.flatMap { Double($0) }
            }
            #expect(try await oldest() == 0)
            for sql in [
                """
                INSERT INTO matches (tenant_id, match_id, bundle, attributes_type, kickoff_at, content_state, version)
                VALUES ('t_1', 'final', 'b', 'Score', now(), '{}', 1)
                """,
                """
                INSERT INTO targets (tenant_id, match_id, kind, environment, cadence, due_at)
                VALUES ('t_1', 'final', 'tokens', 'production', 'frequent', now() - interval '100 seconds')
                """,
            ] { _ = try await connection.query(sql, by: .patient) }
            let age = try #require(try await oldest())
            #expect(age >= 100 && age < 100 + 120)
        }
        await connection.close()
    }

    @Test("takes only the parts it is told to")
    func roles() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "touchline-roles-\(UUID())")
        let ready = folder.path
        defer { try? FileManager.default.removeItem(at: folder) }
        let settings = try RunningService.settings(
            TestDatabase.current.conninfo,
            ["--roles": "dispatch", "--ready-file": ready]
        )
        let stop = StopRequest()
        async let ended: Void = Service(settings: settings, log: nil).run(until: stop)
        var text: String?
        while text == nil { text = try? String(contentsOfFile: ready, encoding: .utf8) }
        #expect(text?.contains(#""url":null"#) == true)
        stop.request()
        try await ended
    }

    @Test("refuses an address of the network without TLS")
    func openAddress() async throws {
        let settings = try RunningService.settings(TestDatabase.current.conninfo, ["--listen": "0.0.0.0:0"])
        let fault = await #expect(throws: ServiceFault.self) {
            try await Service(settings: settings, log: nil).run(until: StopRequest())
        }
        #expect(fault?.message.contains("--listen") == true)
    }

    @Test("refuses a port that is taken, and says which")
    func takenPort() async throws {
        try await RunningService.with { service in
            let settings = try RunningService.settings(
                TestDatabase.current.conninfo,
                ["--listen": "127.0.0.1:\(service.port)"]
            )
            let fault = await #expect(throws: ServiceFault.self) {
                try await Service(settings: settings, log: nil).run(until: StopRequest())
            }
            #expect(fault?.message.contains("\(service.port)") == true)
        }
    }

    @Test("refuses a master key that the stored keys were not encrypted with")
    func otherMasterKey() async throws {
        try await RunningService.with { _ in }
        let connection = try await TestDatabase.current.connect()
        let binding = MasterKey.Binding(purpose: "p8", tenant: "t_1", subject: "x/sandbox")
        let sealed = try MasterKey.random().seal([1], for: binding)
        _ = try await connection.query(
            """
            INSERT INTO apps (tenant_id, bundle, environment, team_id, key_id, p8_ciphertext, key_fingerprint)
            VALUES ('t_1', 'x', 'sandbox', 'TEAM', 'KEY', $1, '')
            """,
            [.bytes(sealed)],
            by: .now + .seconds(120)
        )
        let settings = try RunningService.settings(TestDatabase.current.conninfo, [:])
        let fault = await #expect(throws: ServiceFault.self) {
            try await Service(settings: settings, log: nil).run(until: StopRequest())
        }
        #expect(fault?.message.contains("master key") == true)
        await connection.close()
    }
}

@Suite("A data folder")
struct DataFolderTests {
    @Test("belongs to one process, and keeps its keys to itself")
    func folder() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "touchline-folder-\(UUID())/deep").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let folder = try DataFolder(path)
        let fault = #expect(throws: ServiceFault.self) { try DataFolder(path) }
        #expect(fault?.message.contains("in use") == true)
        let key = try folder.masterKey(mayMake: true)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.masterKeyFile)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try folder.masterKey(mayMake: false).base64 == key.base64)
        let raw = folder.path + "/raw.key"
        try #require(Data(base64Encoded: key.base64)).write(to: URL(filePath: raw))
        #expect(try DataFolder.masterKey(file: raw).base64 == key.base64)
        try FileManager.default.removeItem(atPath: folder.masterKeyFile)
        #expect(throws: ServiceFault.self) { try folder.masterKey(mayMake: false) }
        folder.release()
        let second = try DataFolder(path)
        second.release()
    }
}
