import Core
import EventLoop
import Executables
import Foundation
import Store
import TestSupport
import Testing

@testable import touchline

/// A service and a simulator as other processes, on the running test's database, and a folder where a person types.
struct CommandStage: Sendable {
    /// Where lines are run; `HOME` too.
    let folder: String
    let apns: SimulatorReady
    let store: Store
    let environment: [String: String]
    private let services: Workplace

    /// What a line did.
    struct Run: Sendable {
        let ending: ChildProcess.Ending?
        /// Standard output and standard error as they came.
        let output: String
    }

    /// Runs `body` on a stage of its own.
    static func with(_ body: (CommandStage) async throws -> Void) async throws {
        let services = try Workplace(in: ProcessInfo.processInfo.environment["TMPDIR"], name: "touchline-stage")
        do {
            try await body(try await CommandStage(services))
        } catch {
            await services.stop()
            throw error
        }
        await services.stop()
    }

    private init(_ services: Workplace) async throws {
        self.services = services
        let database = TestDatabase.current
        store = database.store()
        let master = ["DATABASE_URL": database.conninfo, "TOUCHLINE_MASTER_KEY": MasterKey.random().base64]
        apns = try await services.startSimulator().ready
        let service = try await services.startService(apns, environment: master).ready
        folder = "\(services.folder)/home"
        for path in ["", "/touchline", "/apns"] {
            try FileManager.default.createDirectory(atPath: folder + path, withIntermediateDirectories: true)
        }
        // A service with a PostgreSQL of its own writes the key there.
        let key = try await store.createOperatorKey(by: .patient).text
        try key.write(toFile: "\(folder)/touchline/operator.key", atomically: true, encoding: .utf8)
        for place in ["apns/AuthKey.p8", "AuthKey.p8"] {
            try FileManager.default.copyItem(atPath: apns.credential.p8_file, toPath: "\(folder)/\(place)")
        }
        let path = try Workplace.ownFolder() + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        environment = master.merging([
            "PATH": path, "HOME": folder, "TMPDIR": services.folder, "LANG": "C.UTF-8", "TOUCHLINE_URL": service.url,
        ]) { $1 }
    }

    /// Runs a script of bash, which ends with the first command that fails.
    ///
    /// - Parameters:
    ///   - script: As typed.
    ///   - more: Environment variables beside the stage's.
    ///   - signal: Sent when `isReady` says so of the output so far; it is for what ends only when told to.
    ///   - isReady: Looks at the output.
    /// - Returns: How it ended, and all that it printed.
    /// - Throws: When bash cannot be started.
    func run(
        _ script: String,
        _ more: [String: String] = [:],
        signal: Int32? = nil,
        when isReady: (String) -> Bool = { _ in false }
    ) async throws -> Run {
        var options = ChildProcess.Options("/bin/bash", ["-euo", "pipefail", "-c", script])
        options.environment = environment.merging(more) { $1 }
        options.directory = folder
        options.output = .kept
        // Ended with the stage, if a test fails before it.
        let process = try services.launch(options, "bash")
        if let signal {
            let pause = ContinuousClock.now + .seconds(240)
            while process.ending == nil, !isReady(process.output), .now < pause {
                try await Task.sleep(for: .milliseconds(20))
            }
            process.signal(signal)
        }
        return Run(ending: await process.waitForEnd(by: .now + .seconds(300)), output: process.output)
    }
}
