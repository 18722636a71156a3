internal import EventLoop
import FoundationEssentials

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
        try client(
            url: invocation.required("--url"),
            key: key(invocation),
            tenant: invocation.value("--tenant"),
            caFile: invocation.value("--ca"),
            patience: patience
        )
    }

    /// A client; all share one loop.
    static func client(
        url: String,
        key: String?,
        tenant: String? = nil,
        caFile: String? = nil,
        patience: Duration = .zero
    ) throws(Failure) -> APIClient {
        let loop: EventLoop
        do throws(EventLoopError) {
            loop = try sharedLoop.get()
        } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
        let connection = try ServiceConnection(url: try ServiceURL(url), caFile: caFile, loop: loop)
        return APIClient(connection: connection, key: key, tenant: tenant, patience: patience)
    }

    /// Lives as long as the process.
    private static let sharedLoop = Result { () throws(EventLoopError) in try EventLoop(name: "client") }

    private static func key(_ invocation: Invocation) throws(Failure) -> String {
        if let file = invocation.value("--key-file") {
            return String(decoding: try File.read(file), as: UTF8.self).trimmed
        }
        if let key = invocation.environment["TOUCHLINE_KEY"]?.trimmed, !key.isEmpty { return key }
        throw Failure(
            .wrongUse,
            "no API key",
            hint: "export TOUCHLINE_KEY=tl_…, or name a file with it: --key-file FILE"
        )
    }
}

extension String {
    /// Without the blanks and line ends around it.
    var trimmed: String {
        var rest = self[...]
        while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
        return String(rest.drop(while: \.isWhitespace))
    }
}

/// Files that a command line names.
enum File {
    /// All of the file; `-` is standard input.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: URL(filePath: path == "-" ? "/dev/stdin" : path)))
        } catch {
            throw Failure(.failed, "cannot read \(path): \(Self.reason(error))")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile: "there is no such file"
        case .fileReadNoPermission: "not allowed"
        case let code?: "error \(code.rawValue)"
        case nil: "\(error)"
        }
    }
}
