import CLinux
import EventLoop
import Executables
import Glibc
import Log
import Server

extension Command {
    static let serve = Command(
        "serve",
        "run the service: the API, sending, and what keeps house",
        options: serveOptions,
        details: """
            Without DATABASE_URL it runs a PostgreSQL of its own in the data folder, and
            makes its keys there: master.key, and operator.key for the first calls.

            Secrets come from the environment or from files, never from options: DATABASE_URL
            (postgres://user:password@host/database), and TOUCHLINE_MASTER_KEY (base64 of 32
            bytes) instead of --master-key-file.

            SIGTERM and SIGINT end it in order: what was asked is answered, pages in
            flight are recorded. A second one ends it at once.
            """,
        example: "touchline serve --data ./data"
    ) { invocation throws(Failure) in
        try await runService(invocation)
    }

    private static let serveOptions: [Option] =
        [
            Option(
                "--listen",
                "HOST:PORT",
                environment: "TOUCHLINE_LISTEN",
                default: "127.0.0.1:8080",
                "where the API listens; port 0 takes any that is free"
            ),
            Option(
                "--metrics-listen",
                "HOST:PORT",
                environment: "TOUCHLINE_METRICS_LISTEN",
                default: "127.0.0.1:9464",
                "where /metrics, /healthz and /readyz are"
            ),
            Option(
                "--data",
                "DIR",
                environment: "TOUCHLINE_DATA",
                "the data folder; else ~/.local/state/touchline, as root /var/lib/touchline"
            ),
            Option(
                "--database-connections",
                "N",
                environment: "TOUCHLINE_DATABASE_CONNECTIONS",
                default: "11",
                "connections to PostgreSQL at most, and one to listen"
            ),
            Option(
                "--master-key-file",
                "FILE",
                "the key that encrypts the apps' keys: 32 bytes, or their base64 (embedded: DIR/master.key)"
            ),
            Option(
                "--roles",
                "LIST",
                environment: "TOUCHLINE_ROLES",
                default: "api,dispatch,housekeeping",
                "the parts that this process takes"
            ),
        ] + apnsOptions + [
            Option("--tls-cert", "FILE", environment: "TOUCHLINE_TLS_CERT", "PEM: the certificate and its chain"),
            Option("--tls-key", "FILE", environment: "TOUCHLINE_TLS_KEY", "PEM: the certificate's key"),
            Option(
                "--behind-proxy",
                environment: "TOUCHLINE_BEHIND_PROXY",
                "something in front does TLS: any address may be listened on"
            ),
            Option(
                "--drain",
                "SECONDS",
                environment: "TOUCHLINE_DRAIN",
                default: "20",
                "how long what is in flight may take at the end"
            ),
            Option(
                "--log",
                "text|json",
                environment: "TOUCHLINE_LOG",
                default: "text",
                "how the log's lines on standard error are written"
            ),
            Option(
                "--log-level",
                "LEVEL",
                environment: "TOUCHLINE_LOG_LEVEL",
                default: "info",
                "the least that is logged: debug, info, warning or error"
            ),
            Option("--ready-file", "FILE", "written when it serves: url, metrics_url, operator_key_file, pid"),
            Option("--disposable", "for trying out: the data folder is deleted at the end, and with the process"),
        ]

    /// Where APNs is, and whom to trust there.
    static var apnsOptions: [Option] {
        let hosts = [("production", "api.push.apple.com:443"), ("sandbox", "api.sandbox.push.apple.com:443")]
        let manageHosts = [
            "production": "api-manage-broadcast.push.apple.com:2196",
            "sandbox": "api-manage-broadcast.sandbox.push.apple.com:2195",
        ]
        return hosts.flatMap { environment, push in
            let variable = "TOUCHLINE_APNS_\(environment.uppercased())"
            return [
                Option(
                    "--apns-\(environment)-push",
                    "HOST:PORT",
                    environment: "\(variable)_PUSH",
                    default: push,
                    "where pushes to tokens go, \(environment)"
                ),
                Option(
                    "--apns-\(environment)-broadcast",
                    "HOST:PORT",
                    environment: "\(variable)_BROADCAST",
                    "where pushes to channels go, \(environment) (default: where pushes to tokens go)"
                ),
                Option(
                    "--apns-\(environment)-manage",
                    "HOST:PORT",
                    environment: "\(variable)_MANAGE",
                    default: manageHosts[environment],
                    "where channels are made, \(environment)"
                ),
            ]
        } + [
            Option(
                "--apns-ca",
                "FILE",
                environment: "TOUCHLINE_APNS_CA",
                "PEM: the roots that APNs' certificates are trusted by (default: the system's)"
            )
        ]
    }
}

private func runService(_ invocation: Invocation) async throws(Failure) {
    // Each loop's thread would keep an arena of its own, with memory that it does not give back.
    c_limit_malloc_arenas(2)
    let settings: Settings
    do {
        settings = try Settings(
            Settings.Source(
                value: { invocation.value($0) },
                isOn: { invocation.isOn($0) },
                environment: invocation.environment,
                isRoot: geteuid() == 0
            )
        )
    } catch {
        throw Failure(.wrongUse, error.message, hint: error.hint)
    }
    let stop = StopRequest()
    let output = LogOutput(to: STDERR_FILENO, settings.logFormat, from: settings.logLevel)
    // What is said afterwards, an error, comes after the log's last line.
    defer { output.flush() }
    Logger(output, subsystem: "service").info("starting", settings.logged(version: Program.version))
    do {
        let signals = try SignalWatcher.start([SIGTERM, SIGINT], on: EventLoop(name: "signals"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in signals {
                    if stop.isRequested { exit(130) }
                    stop.request()
                }
            }
            try await Service(settings: settings, log: output).run(until: stop)
            group.cancelAll()
        }
    } catch let fault as ServiceFault {
        throw Failure(.failed, fault.message, hint: fault.hint)
    } catch {
        throw Failure(.failed, "\(error)")
    }
}
