package import APNsProtocol
package import Log

/// What a person who runs the service can choose: the options of `touchline serve`.
package struct Settings: Equatable, Sendable {
    /// Parts of the service, for processes that take only some of them.
    package enum Role: String, CaseIterable, Sendable {
        case api
        case dispatch
        case housekeeping
    }

    /// Where to listen or to connect.
    package struct HostPort: Equatable, Sendable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// Where APNs is, for one environment.
    package struct Endpoints: Equatable, Sendable {
        package var push: HostPort
        /// Apple's pages name two hosts; by default it is the one of `push`.
        package var broadcast: HostPort
        package var manage: HostPort
    }

    package enum MasterKeySource: Equatable, Sendable {
        case file(String)
        /// `TOUCHLINE_MASTER_KEY`.
        case base64(String)
        /// Embedded: made at the first start, in the data folder.
        case dataFolder
    }

    package var listen: HostPort
    package var metricsListen: HostPort
    /// Nil: a PostgreSQL of our own, in the data folder.
    package var databaseURL: String?
    /// To PostgreSQL at most, of this process.
    package var databaseConnections: Int
    package var dataFolder: String
    package var masterKey: MasterKeySource
    package var roles: Set<Role>
    package var apns: [APNsEnvironment: Endpoints]
    package var apnsCAFile: String?
    package var tls: TLSFiles?
    package var isBehindProxy: Bool
    /// How long a request or a page in flight may take after SIGTERM.
    package var drain: Duration
    package var readyFile: String?
    /// The data folder goes with the process.
    package var isDisposable: Bool
    package var logFormat: LogFormat
    package var logLevel: LogLevel

    package struct TLSFiles: Equatable, Sendable {
        package var certificate: String
        package var key: String
    }
}

/// A setting that cannot be; `message` names the flag.
package struct SettingsFault: Error, Equatable, Sendable {
    package let message: String
    package let hint: String?

    package init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}
