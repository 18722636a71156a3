internal import CLibPQ
internal import EventLoop
internal import Glibc

/// A libpq connection string, taken apart; `libpq` itself fills in the rest from its environment and defaults.
struct ConnectionOptions {
    /// In libpq's own words: `host`, `port`, `dbname`, …
    fileprivate(set) var values: [String: String]

    /// - Throws: ``PGError`` of kind configuration. libpq's explanation is left out: it may quote the password.
    init(_ conninfo: String) throws(PGError) {
        guard let options = PQconninfoParse(conninfo, nil) else {
            throw PGError(.configuration, "not a connection string of libpq: postgres://user@host:port/database")
        }
        defer { PQconninfoFree(options) }
        values = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        setDefault("host", fromEnvironment: "PGHOST")
        setDefault("hostaddr", fromEnvironment: "PGHOSTADDR")
        setDefault("port", fromEnvironment: "PGPORT")
        if values["fallback_application_name"] == nil { values["fallback_application_name"] = "touchline" }
        // Kerberos may block for seconds in its own lookups; who wants it says so.
        if values["gssencmode"] == nil, getenv("PGGSSENCMODE") == nil { values["gssencmode"] = "disable" }
        values["client_encoding"] = "UTF8"
    }

    /// With `hostaddr` filled in for host names, so that libpq need not look them up.
    func resolved(by deadline: ContinuousClock.Instant) async throws(PGError) -> ConnectionOptions {
        guard values["hostaddr"] == nil, let hosts = values["host"]?.split(separator: ",").map(String.init) else {
            return self
        }
        guard hosts.contains(where: { !$0.hasPrefix("/") && !$0.hasPrefix("@") }) else { return self }
        let ports = (values["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        var entries: [(host: String, address: String, port: String)] = []
        var failure: PGError?
        for (index, host) in hosts.enumerated() {
            let port = ports.count > 1 && index < ports.count ? ports[index] : ports.first ?? ""
            if host.hasPrefix("/") || host.hasPrefix("@") {
                entries.append((host, "", port))
                continue
            }
            do throws(PGError) {
                for address in try await Self.addresses(of: host, by: deadline) {
                    entries.append((host, address, port))
                }
            } catch {
                // The others may be there.
                failure = error
            }
        }
        if let failure, entries.isEmpty { throw failure }
        var copy = self
        copy.values["host"] = entries.map(\.host).joined(separator: ",")
        copy.values["hostaddr"] = entries.map(\.address).joined(separator: ",")
        if entries.contains(where: { !$0.port.isEmpty }) {
            copy.values["port"] = entries.map(\.port).joined(separator: ",")
        }
        return copy
    }

    /// Where there are several servers, each by itself, in the order given or at random as the string asks.
    ///
    /// libpq would try them within one deadline, and a host that does not answer would take all of it. Servers are told
    /// apart by `target_session_attrs`; by default it is the one that takes writes.
    func servers() -> [ConnectionOptions] {
        let hosts = values["host"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        // What prefers a standby needs libpq's second round.
        guard hosts.count > 1, values["target_session_attrs"] != "prefer-standby" else { return [self] }
        let addresses = values["hostaddr"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let ports = (values["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let single = hosts.indices.map { index in
            var copy = self
            copy.values["host"] = hosts[index]
            copy.values["hostaddr"] = addresses.flatMap { index < $0.count && !$0[index].isEmpty ? $0[index] : nil }
            copy.values["port"] = ports.count > 1 && index < ports.count ? ports[index] : ports.first
            if copy.values["port"]?.isEmpty == true { copy.values["port"] = nil }
            if values["target_session_attrs"] == nil { copy.values["target_session_attrs"] = "read-write" }
            return copy
        }
        return values["load_balance_hosts"] == "random" ? single.shuffled() : single
    }

    /// Calls `body` with libpq's two arrays, each ended by a null.
    func withPointers<Result>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let entries = values.sorted { $0.key < $1.key }
        let keywords = entries.map { strdup($0.key) }
        let texts = entries.map { strdup($0.value) }
        defer {
            keywords.forEach { free($0) }
            texts.forEach { free($0) }
        }
        return (keywords.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { keywords in
            (texts.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { texts in
                body(keywords.baseAddress, texts.baseAddress)
            }
        }
    }

    private mutating func setDefault(_ keyword: String, fromEnvironment variable: String) {
        guard values[keyword] == nil, let value = getenv(variable) else { return }
        values[keyword] = String(cString: value)
    }

    private static func addresses(
        of host: String,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> [String] {
        do {
            return try await Resolver.resolve(host: host, port: 0, by: deadline).map { address in
                // "127.0.0.1:0" or "[::1]:0".
                String(address.description.dropLast(2).filter { $0 != "[" && $0 != "]" })
            }
        } catch {
            throw PGError(.unavailable, error.description)
        }
    }
}

/// libpq's connection strings.
package enum Conninfo {
    /// The same server and user, another database.
    ///
    /// - Throws: ``PGError`` of kind configuration when `conninfo` cannot be read.
    package static func changing(_ conninfo: String, database: String) throws(PGError) -> String {
        var options = try ConnectionOptions(conninfo)
        options.setDatabase(database)
        return options.values.sorted { $0.key < $1.key }.map { "\($0.key)=\(quoted($0.value))" }.joined(separator: " ")
    }

    private static func quoted(_ value: String) -> String {
        let escaped = value.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "'\(String(escaped))'"
    }
}

extension ConnectionOptions {
    fileprivate mutating func setDatabase(_ name: String) { values["dbname"] = name }
}
