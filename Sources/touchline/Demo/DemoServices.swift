internal import EventLoop
import FoundationEssentials
internal import Glibc

/// The demo's processes and its folder: the simulator, and the service with a PostgreSQL of its own.
final class DemoServices: Sendable {
    /// What `apns-simulator` writes when it serves.
    struct SimulatorReady: Decodable, Sendable {
        struct Endpoints: Decodable, Sendable {
            let push: String
            let manage: String
        }

        struct Credential: Decodable, Sendable {
            let team_id: String
            let key_id: String
            let p8_file: String
        }

        let production: Endpoints
        let sandbox: Endpoints
        let control: String
        let ca_file: String
        let credential: Credential
    }

    /// What `touchline serve` writes when it serves.
    struct ServiceReady: Decodable, Sendable {
        let url: String
        let operator_key_file: String
    }

    private struct State {
        var processes: [ChildProcess] = []
        /// Set once: from then on nothing more is started.
        var stopping: Task<Void, Never>?
    }

    let folder: String
    private let guardian: DemoGuardian
    private let state = ThreadLock(State())

    /// Makes the folder, in `temporary`.
    init(in temporary: String) throws(Failure) {
        var template = Array("\(temporary)/touchline-demo.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(.failed, "cannot make a folder in \(temporary)") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // PostgreSQL's user must get through to its data; what is secret is secret by its own mode.
        chmod(folder, 0o711)
        do throws(Failure) {
            guardian = try DemoGuardian(folder: folder)
        } catch {
            rmdir(folder)
            throw error
        }
    }

    func startSimulator() async throws(Failure) -> SimulatorReady {
        let ready = "\(folder)/simulator.json"
        return try await start(
            "apns-simulator",
            ["--dir", "\(folder)/simulator", "--ready-file", ready],
            ready: ready
        )
    }

    func startService(_ apns: SimulatorReady) async throws(Failure) -> ServiceReady {
        let ready = "\(folder)/service.json"
        return try await start(
            "touchline",
            [
                "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--disposable",
                "--data", "\(folder)/data", "--ready-file", ready, "--apns-ca", apns.ca_file,
                "--apns-production-push", apns.production.push, "--apns-production-manage", apns.production.manage,
                "--apns-sandbox-push", apns.sandbox.push, "--apns-sandbox-manage", apns.sandbox.manage,
            ],
            ready: ready
        )
    }

    var isStopping: Bool { state.withLock { $0.stopping != nil } }

    /// Ends what was started, the last first, and deletes the folder. Whoever calls it returns when all is gone.
    func stop() async {
        let stopping = state.withLock { state in
            let task = state.stopping ?? Task { [processes = state.processes] in await end(processes.reversed()) }
            state.stopping = task
            return task
        }
        await stopping.value
    }

    private func end(_ processes: [ChildProcess]) async {
        for process in processes {
            process.signal(SIGTERM)
            if await process.waitForEnd(by: .now + .seconds(30)) == nil {
                process.signal(SIGKILL)
                await process.waitForEnd()
            }
        }
        try? FileManager.default.removeItem(atPath: folder)
        await guardian.dismiss()
    }

    /// Starts the executable beside this one, and waits until it has written its ready-file.
    private func start<Ready: Decodable>(
        _ name: String,
        _ arguments: [String],
        ready file: String
    ) async throws(Failure) -> Ready {
        let log = "\(folder)/\(name).log"
        var options = ChildProcess.Options("\(try Self.ownFolder())/\(name)", arguments)
        options.output = .file(log)
        options.hasOwnSession = true
        options.environment = Environment.current().filter { name, _ in
            name != "DATABASE_URL" && !name.hasPrefix("TOUCHLINE_") && !name.hasPrefix("PG")
        }
        let process = try launch(options, name)
        let end = ContinuousClock.now + .seconds(90)
        while ContinuousClock.now < end, process.ending == nil {
            if let bytes = try? File.read(file), let ready = try? JSONDecoder().decode(Ready.self, from: Data(bytes)) {
                return ready
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        let lines = ((try? File.read(log)) ?? []).split(separator: UInt8(ascii: "\n")).suffix(10)
            .map { String(decoding: $0, as: UTF8.self) }
        throw Failure(
            .failed,
            "\(name) \(process.ending == nil ? "did not get ready within 90 s" : "ended at once")",
            hint: lines.joined(separator: "\n       ")
        )
    }

    private func launch(_ options: ChildProcess.Options, _ name: String) throws(Failure) -> ChildProcess {
        // Under the lock: what is started while everything is being stopped would be left behind.
        let result: Result<ChildProcess, Failure> = state.withLock { state in
            guard state.stopping == nil else { return .failure(Failure(.failed, "interrupted")) }
            do throws(ChildProcessError) {
                let process = try ChildProcess.start(options)
                state.processes.append(process)
                return .success(process)
            } catch {
                return .failure(
                    Failure(.failed, "cannot start \(name): \(error)", hint: "swift build -c release builds it")
                )
            }
        }
        let process = try result.get()
        guardian.watch(process)
        return process
    }

    private static func ownFolder() throws(Failure) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        guard readlink("/proc/self/exe", &buffer, buffer.count - 1) > 0 else {
            throw Failure(.failed, "cannot find this program's own folder: is /proc mounted?")
        }
        let path = buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "/"
    }
}
