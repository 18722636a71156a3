internal import EventLoop
internal import Executables
import FoundationEssentials
import Glibc

/// A PgBouncer in session mode between some services and PostgreSQL, which is killed and frozen.
actor Pooler {
    nonisolated let connectionString: String
    private let workplace: Workplace
    private let options: ChildProcess.Options
    private var process: ChildProcess?

    static var program: String? { ChildProcess.find("pgbouncer", in: ["/usr/sbin"]) }

    /// Starts it before a server on a unix socket.
    init(before cluster: ChaosCluster, in workplace: Workplace) throws(Failure) {
        guard let program = Self.program, let port = Self.freePort() else { throw Failure(.failed, "no pgbouncer") }
        self.workplace = workplace
        let folder = "\(workplace.folder)/pooler"
        let settings = """
            [databases]
            touchline = \(cluster.connectionString)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = session
            max_client_conn = 500
            default_pool_size = 90
            ignore_startup_parameters = extra_float_digits,options
            logfile = \(folder)/pgbouncer.log
            """
        mkdir(folder, 0o755)
        do {
            try Data(settings.utf8).write(to: URL(filePath: "\(folder)/pgbouncer.ini"))
        } catch {
            throw Failure(.failed, "cannot write to \(folder): \(error)")
        }
        var options = ChildProcess.Options(program, ["\(folder)/pgbouncer.ini"])
        options.output = .discarded
        options.hasOwnSession = true
        if geteuid() == 0, let user = getpwnam("postgres") {
            // It does not run as root.
            options.user = "postgres"
            chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        self.options = options
        connectionString = "host=127.0.0.1 port=\(port) user=touchline dbname=touchline"
    }

    func start() throws(Failure) {
        do {
            let process = try ChildProcess.start(options)
            workplace.watch(process.processID)
            self.process = process
        } catch {
            throw Failure(.failed, "pgbouncer: \(error)")
        }
    }

    /// Kills it; it is started again after `length`.
    func restart(after length: Duration) async {
        await stop()
        try? await Task.sleep(for: length)
        try? start()
    }

    func freeze(for length: Duration) async {
        process?.signal(SIGSTOP)
        try? await Task.sleep(for: length)
        process?.signal(SIGCONT)
    }

    func stop() async {
        process?.signal(SIGKILL)
        await process?.waitForEnd()
    }

    private static func freePort() -> Int? {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard listener >= 0 else { return nil }
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        return isBound ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }
}
