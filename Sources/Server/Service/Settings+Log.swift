internal import APNsProtocol
package import Log

extension Settings {
    /// What an operator wants to read at the beginning of a log: settings, no secret among them.
    package func logged(version: String) -> LogFields {
        [
            "version": version,
            "listen": roles.contains(.api) ? listen.description : nil,
            "metrics_listen": metricsListen.description,
            "roles": roles.map(\.rawValue).sorted().joined(separator: ","),
            "database": databaseURL == nil ? "embedded in \(dataFolder)" : "DATABASE_URL",
            "database_connections": databaseConnections,
            "tls": tls != nil, "behind_proxy": isBehindProxy, "drain_s": drain, "log_level": logLevel.rawValue,
            "apns_production": apns[.production]?.push.description, "apns_sandbox": apns[.sandbox]?.push.description,
        ]
    }
}
