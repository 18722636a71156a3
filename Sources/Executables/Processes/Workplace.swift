internal import CLinux
package import EventLoop
import FoundationEssentials
internal import Glibc

/// A temporary folder, and the processes that run in it: all ended and the folder deleted by ``stop()``, and by a guardian
/// when this process is gone without it, by `kill -9` too.
package final class Workplace: Sendable {
    /// A program that has written its ready-file.
    package struct Started<Ready: Sendable>: Sendable {
        package let ready: Ready
        package let process: ChildProcess
        package let readyFile: String
        /// Its standard output and standard error.
        package let log: String
    }

    private struct State {
        var processes: [ChildProcess] = []
        var startCount = 0
        /// Set once: from then on nothing more is started.
        var stopping: Task<Void, Never>?
    }

    package let folder: String
    private let guardian: Guardian
    private let state = ThreadLock(State())

    /// Makes the folder.
    ///
    /// - Parameters:
    ///   - temporary: Where; nil or empty: `/tmp`.
    ///   - name: What its name begins with.
    /// - Throws: ``Failure`` where no folder or no process can be made.
    package init(in temporary: String?, name: String) throws(Failure) {
        let parent = temporary.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        guard let made = TemporaryFolder.make(prefix: "\(parent)/\(name).") else {
            throw Failure(.failed, "cannot make a folder in \(parent)")
        }
        folder = made
        // PostgreSQL's user must get through to its data; what is secret is secret by its own mode.
        chmod(folder, 0o711)
        do throws(Failure) {
            guardian = try Guardian(folder: folder)
        } catch {
            rmdir(folder)
            throw error
        }
    }

    package var isStopping: Bool { state.withLock { $0.stopping != nil } }

    /// Puts a process under care that something else has started: a PostgreSQL's postmaster.
    package func watch(_ process: Int32) { guardian.watch(process) }

    /// Ends what was started, the last first, and deletes the folder. Whoever calls it returns when all is gone.
    package func stop() async {
        let stopping = state.withLock { state in
            let task = state.stopping ?? Task { [processes = state.processes] in await end(processes.reversed()) }
            state.stopping = task
            return task
        }
        await stopping.value
    }

    private func end(_ processes: [ChildProcess]) async {
        for process in processes {
            // One that was stopped by SIGSTOP would not hear the rest.
            process.signal(SIGCONT)
            process.signal(SIGTERM)
            if await process.waitForEnd(by: .now + .seconds(30)) == nil {
                process.signal(SIGKILL)
                await process.waitForEnd()
            }
        }
        try? FileManager.default.removeItem(atPath: folder)
        await guardian.dismiss()
    }

    /// Starts the executable that stands beside this one, and waits until it has written its ready-file.
    ///
    /// - Parameters:
    ///   - name: The executable's, such as `apns-simulator`; its log is named after it.
    ///   - arguments: `--ready-file FILE` comes behind them.
    ///   - environment: Beside this process's own, of which what would change the service is left out.
    ///   - deadline: How long it may take to get ready.
    /// - Returns: The program, which ``stop()`` ends, unless it has ended by then.
    /// - Throws: ``Failure`` with the end of its log, when it ends or does not get ready.
    package func start<Ready: Decodable & Sendable>(
        _ name: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        within deadline: Duration = .seconds(90)
    ) async throws(Failure) -> Started<Ready> {
        let number = state.withLock { state in
            state.startCount += 1
            return state.startCount
        }
        let file = "\(folder)/\(name)-\(number).json"
        let log = "\(folder)/\(name)-\(number).log"
        var options = ChildProcess.Options("\(try Self.ownFolder())/\(name)", arguments + ["--ready-file", file])
        options.output = .file(log)
        options.hasOwnSession = true
        options.environment = Environment.current().filter { name, _ in
            name != "DATABASE_URL" && !name.hasPrefix("TOUCHLINE_") && !name.hasPrefix("PG")
        }
        .merging(environment) { $1 }
        let process = try launch(options, name)
        let end = ContinuousClock.now + deadline
        while ContinuousClock.now < end, process.ending == nil {
            if let bytes = try? File.read(file), let ready = try? JSONDecoder().decode(Ready.self, from: Data(bytes)) {
                return Started(ready: ready, process: process, readyFile: file, log: log)
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        let lines = ((try? File.read(log)) ?? []).split(separator: UInt8(ascii: "\n")).suffix(10)
            .map { String(decoding: $0, as: UTF8.self) }
        throw Failure(
            .failed,
            "\(name) \(process.ending == nil ? "did not get ready within \(deadline)" : "ended at once")",
            hint: lines.joined(separator: "\n       ")
        )
    }

    /// Starts any program; ``stop()`` ends it, unless it has ended by then.
    package func launch(_ options: ChildProcess.Options, _ name: String) throws(Failure) -> ChildProcess {
        // Under the lock: what is started while everything is being stopped would be left behind.
        let result: Result<ChildProcess, Failure> = state.withLock { state in
            guard state.stopping == nil else { return .failure(Failure(.failed, "interrupted")) }
            do throws(ChildProcessError) {
                let process = try ChildProcess.start(options)
                state.processes.removeAll { $0.ending != nil }
                state.processes.append(process)
                return .success(process)
            } catch {
                return .failure(
                    Failure(
                        .failed,
                        "cannot start \(name): \(error)",
                        hint: "swift build -c release --product \(name) builds it"
                    )
                )
            }
        }
        let process = try result.get()
        guardian.watch(process.processID)
        return process
    }

    /// The folder of this executable, where its companions are.
    package static func ownFolder() throws(Failure) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        guard readlink("/proc/self/exe", &buffer, buffer.count - 1) > 0 else {
            throw Failure(.failed, "cannot find this program's own folder: is /proc mounted?")
        }
        let path = buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "/"
    }
}

extension Workplace {
    /// Starts the simulator with these arguments beside its folder: `--lean`, `--rtt`.
    package func startSimulator(_ arguments: [String] = []) async throws(Failure) -> Started<SimulatorReady> {
        try await start("apns-simulator", ["--dir", "\(folder)/simulator"] + arguments)
    }

    /// Starts `touchline serve` on free ports, with a PostgreSQL of its own unless `environment` has a `DATABASE_URL`.
    ///
    /// - Parameters:
    ///   - apns: The simulator.
    ///   - arguments: Further ones of `serve`.
    ///   - isDisposable: That PostgreSQL waits for no disk: not where it is measured.
    ///   - environment: Of the process.
    /// - Returns: The process, ready.
    /// - Throws: ``Failure``.
    package func startService(
        _ apns: SimulatorReady,
        _ arguments: [String] = [],
        isDisposable: Bool = true,
        environment: [String: String] = [:]
    ) async throws(Failure) -> Started<ServiceReady> {
        let own = (isDisposable ? ["--disposable"] : []) + ["--data", "\(folder)/data"]
        let data = environment["DATABASE_URL"] == nil ? own : []
        return try await start(
            "touchline",
            [
                "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--apns-ca", apns.ca_file,
                "--apns-production-push", apns.production.push, "--apns-production-manage", apns.production.manage,
                "--apns-sandbox-push", apns.sandbox.push, "--apns-sandbox-manage", apns.sandbox.manage,
            ] + data + arguments,
            environment: environment
        )
    }

    /// Runs `body` with a workplace of its own, which is stopped when the body has ended, and by SIGINT, SIGTERM and SIGHUP,
    /// which then end this process with 128 and the signal's number. Once a process.
    ///
    /// - Parameters:
    ///   - temporary: As in ``init(in:name:)``.
    ///   - name: What the folder's name begins with.
    ///   - body: What is done there.
    /// - Returns: What the body returns.
    /// - Throws: ``Failure``, the body's or of the folder.
    package static func withInterrupts<Value>(
        in temporary: String?,
        name: String,
        _ body: (Workplace) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let signals: AsyncStream<Int32>
        do throws(EventLoopError) {
            signals = try SignalWatcher.start([SIGINT, SIGTERM, SIGHUP], on: EventLoop(name: "signals"))
        } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
        let workplace = try Workplace(in: temporary, name: name)
        // An interrupt ends the processes and then this one, whatever the body is waiting for.
        let interrupts = Task {
            for await signal in signals {
                Terminal.endProgress()
                Terminal.complain("stopping")
                await workplace.stop()
                exit(128 + signal)
            }
        }
        defer { interrupts.cancel() }
        do throws(Failure) {
            let value = try await body(workplace)
            await workplace.stop()
            return value
        } catch {
            // What fails because everything is being stopped is no failure: the interrupt ends the process.
            if workplace.isStopping { await interrupts.value }
            await workplace.stop()
            throw error
        }
    }
}
