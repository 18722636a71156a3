/// What `apns-simulator` writes when it serves.
package struct SimulatorReady: Decodable, Sendable {
    package struct Endpoints: Decodable, Sendable {
        /// `HOST:PORT`.
        package let push: String
        package let manage: String
    }

    package struct Credential: Decodable, Sendable {
        package let team_id: String
        package let key_id: String
        package let p8_file: String
    }

    package let production: Endpoints
    package let sandbox: Endpoints
    /// The control API's URL.
    package let control: String
    package let ca_file: String
    package let credential: Credential
}

/// What `touchline serve` writes when it serves.
package struct ServiceReady: Decodable, Sendable {
    package let url: String
    package let metrics_url: String?
    /// None where the database is not the service's own.
    package let operator_key_file: String?

    /// The operator's key of a service with a database of its own.
    package func readOperatorKey() throws(Failure) -> String {
        guard let file = operator_key_file else {
            throw Failure(.failed, "the service's database is not its own: it wrote no operator's key")
        }
        return String(decoding: try File.read(file), as: UTF8.self).trimmed
    }
}
