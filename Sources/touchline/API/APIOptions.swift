internal import EventLoop
internal import Executables

/// The options that every command has that talks to the service.
enum APIOptions {
    static let all: [Option] = [
        Option(
            "--url",
            "URL",
            environment: "TOUCHLINE_URL",
            default: "http://127.0.0.1:8080",
            "where the service is"
        ),
        Option(
            "--key-file",
            "FILE",
            "a file with the API key; else the key itself stands in TOUCHLINE_KEY"
        ),
        Option("--tenant", "TENANT", environment: "TOUCHLINE_TENANT", "for operator keys: whose rows are meant"),
        Option("--ca", "FILE", environment: "TOUCHLINE_CA", "roots to trust for https, instead of the system's"),
    ]

    static let json = Option("--json", "print the service's JSON instead of a table")

    /// A client as the options say.
    static func client(_ invocation: Invocation, patience: Duration = .zero) throws(Failure) -> APIClient {
        try APIClient.connecting(
            to: invocation.required("--url"),
            key: key(invocation),
            tenant: invocation.value("--tenant"),
            caFile: invocation.value("--ca"),
            patience: patience
        )
    }

    private static func key(_ invocation: Invocation) throws(Failure) -> String {
        if let file = invocation.value("--key-file") {
            return try checked(String(decoding: try File.read(file), as: UTF8.self).trimmed, "the key in \(file)")
        }
        if let key = invocation.environment["TOUCHLINE_KEY"]?.trimmed, !key.isEmpty {
            return try checked(key, "TOUCHLINE_KEY")
        }
        throw Failure(
            .wrongUse,
            "no API key",
            hint: "export TOUCHLINE_KEY=tl_…, or name a file with it: --key-file FILE"
        )
    }

    /// What cannot stand in a header would break the connection, and the complaint would be about that.
    private static func checked(_ key: String, _ what: String) throws(Failure) -> String {
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure(.wrongUse, "\(what) is no API key", hint: "A key is one line that begins with tl_.")
        }
        return key
    }
}
