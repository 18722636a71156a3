import EventLoop
import FoundationEssentials
import Glibc
import HTTP2

/// A simulator in another process: started here and ended with the run, or one that runs already.
struct SimulatorProcess {
    /// What the ready-file says.
    struct Ready: Decodable {
        struct Environment: Decodable {
            let push: String
        }

        struct Credential: Decodable {
            let team_id: String
            let key_id: String
            let p8_file: String
        }

        let production: Environment
        let control: String
        let ca_file: String
        let credential: Credential
    }

    let ready: Ready
    /// `nil` for one that somebody else has started.
    let process: pid_t?
    private let directory: String?

    /// Starts the executable `apns-simulator` that stands beside this one.
    static func start(isLean: Bool, roundTripMilliseconds: Int) async throws(RunFailure) -> SimulatorProcess {
        let executable = executableDirectory() + "/apns-simulator"
        var template = Array("/tmp/touchline-loadtest.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw RunFailure(message: "cannot make a folder in /tmp") }
        let directory = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        let readyFile = directory + "/ready.json"
        let arguments =
            [executable, "--dir", directory, "--ready-file", readyFile, "--rtt", String(roundTripMilliseconds)]
            + (isLean ? ["--lean"] : [])
        let process: pid_t
        do throws(RunFailure) {
            process = try spawn(executable, arguments)
        } catch {
            removeDirectory(directory)
            throw error
        }
        for _ in 0..<2000 {
            if access(readyFile, R_OK) == 0 {
                return SimulatorProcess(ready: try read(readyFile), process: process, directory: directory)
            }
            if waitpid(process, nil, WNOHANG) != 0 { break }
            usleep(5000)
        }
        kill(process, SIGKILL)
        removeDirectory(directory)
        throw RunFailure(message: "\(executable) did not become ready")
    }

    /// Uses one that runs.
    static func running(readyFile: String) throws(RunFailure) -> SimulatorProcess {
        SimulatorProcess(ready: try read(readyFile), process: nil, directory: nil)
    }

    /// Ends what was started.
    func stop() {
        if let process {
            kill(process, SIGTERM)
            waitpid(process, nil, 0)
        }
        if let directory { Self.removeDirectory(directory) }
    }

    // MARK: - Its control port

    /// What the simulator counted.
    struct Counts: Decodable {
        let requests: [String: Int]
        let doubled_ids: Int?
    }

    func counts(on loop: EventLoop) async throws(RunFailure) -> Counts {
        let body = try await call("GET", "/_sim/counts", on: loop)
        guard let counts = try? JSONDecoder().decode(Counts.self, from: Data(body)) else {
            throw RunFailure(message: "the simulator's counts cannot be read")
        }
        return counts
    }

    func setFaults(_ rules: [UInt8], on loop: EventLoop) async throws(RunFailure) {
        _ = try await call("PUT", "/_sim/faults", rules, on: loop)
    }

    private func call(
        _ method: String,
        _ target: String,
        _ body: [UInt8] = [],
        on loop: EventLoop
    ) async throws(RunFailure) -> [UInt8] {
        let address = ready.control.split(separator: "/").last.map(String.init) ?? ""
        let endpoint = try HostAndPort(address)
        do throws(HTTP2Error) {
            let deadline = ContinuousClock.now + .seconds(10)
            let client = try await HTTP2Client.connect(
                host: endpoint.host,
                port: endpoint.port,
                tls: nil,
                on: loop,
                by: deadline
            )
            let request = HTTPRequest(method: method, scheme: "", authority: "", target: target, body: body)
            let response: HTTPResponse
            do throws(HTTP2Error) {
                response = try await client.send(request, by: deadline)
            } catch {
                await client.close()
                throw error
            }
            await client.close()
            guard response.status / 100 == 2 else { throw HTTP2Error.cannotConnect("status \(response.status)") }
            return response.body
        } catch {
            throw RunFailure(message: "the simulator's control port: \(error)")
        }
    }

    // MARK: - Helpers

    private static func read(_ file: String) throws(RunFailure) -> Ready {
        guard let text = try? Data(contentsOf: URL(fileURLWithPath: file)),
            let ready = try? JSONDecoder().decode(Ready.self, from: text)
        else { throw RunFailure(message: "\(file) is no ready-file of apns-simulator") }
        return ready
    }

    private static func spawn(_ executable: String, _ arguments: [String]) throws(RunFailure) -> pid_t {
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        var process = pid_t()
        let code = posix_spawn(&process, executable, &actions, nil, &pointers, environ)
        guard code == 0 else {
            throw RunFailure(message: "cannot start \(executable): \(String(cString: strerror(code)))")
        }
        return process
    }

    private static func executableDirectory() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }

    private static func removeDirectory(_ directory: String) {
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// `HOST:PORT`.
struct HostAndPort {
    let host: String
    let port: Int

    init(_ text: String) throws(RunFailure) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port), colon > text.startIndex
        else { throw RunFailure(message: "\(text) is not HOST:PORT") }
        host = String(text[..<colon])
        self.port = port
    }
}
