internal import APNsProtocol
internal import Log

extension Settings {
    /// Where settings come from: flags first, then the environment, then defaults; secrets from the environment only.
    package struct Source {
        /// An option's value by its flag, whatever it came from.
        package let value: (String) -> String?
        package let isOn: (String) -> Bool
        package let environment: [String: String]
        /// Nobody can bind a low port or write to `/var/lib` but root.
        package let isRoot: Bool

        package init(
            value: @escaping (String) -> String?,
            isOn: @escaping (String) -> Bool,
            environment: [String: String],
            isRoot: Bool
        ) {
            self.value = value
            self.isOn = isOn
            self.environment = environment
            self.isRoot = isRoot
        }

        fileprivate func hostPort(_ flag: String) throws(SettingsFault) -> HostPort? {
            guard let text = value(flag) else { return nil }
            guard let parsed = HostPort(text) else {
                throw SettingsFault(
                    "\(flag) must be HOST:PORT, not “\(text)”",
                    hint: "For example \(flag) 127.0.0.1:8080"
                )
            }
            return parsed
        }

        fileprivate func secret(_ variable: String) -> String? {
            environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// Reads and checks all of them.
    package init(_ source: Source) throws(SettingsFault) {
        listen = try source.hostPort("--listen") ?? HostPort(host: "127.0.0.1", port: 8_080)
        metricsListen = try source.hostPort("--metrics-listen") ?? HostPort(host: "127.0.0.1", port: 9_464)
        databaseURL = source.secret("DATABASE_URL")
        if let folder = source.value("--data") {
            dataFolder = folder
        } else {
            dataFolder = try Self.defaultDataFolder(source)
        }
        databaseConnections = try Self.number(source.value("--database-connections"), in: 3...1_000) ?? 11
        roles = try Self.roles(source.value("--roles"))
        apns = [:]
        for environment in APNsEnvironment.allCases { apns[environment] = try Self.endpoints(of: environment, source) }
        apnsCAFile = source.value("--apns-ca")
        isBehindProxy = source.isOn("--behind-proxy")
        readyFile = source.value("--ready-file")
        isDisposable = source.isOn("--disposable")
        drain = try Self.seconds(source.value("--drain"), flag: "--drain") ?? .seconds(20)
        logFormat = try Self.word(source, "--log") ?? .text
        logLevel = try Self.word(source, "--log-level") ?? .info
        tls = try Self.tls(source)
        masterKey = try Self.masterKey(source, isEmbedded: databaseURL == nil)
        if isDisposable, databaseURL != nil {
            throw SettingsFault("--disposable needs the embedded PostgreSQL, and DATABASE_URL is set")
        }
    }

    /// `/var/lib/touchline` as root, else `$XDG_STATE_HOME/touchline`, which is `~/.local/state` where it is not set.
    package static func defaultDataFolder(_ source: Source) throws(SettingsFault) -> String {
        if source.isRoot { return "/var/lib/touchline" }
        if let state = source.secret("XDG_STATE_HOME"), state.hasPrefix("/") { return "\(state)/touchline" }
        guard let home = source.secret("HOME") else {
            throw SettingsFault("there is no HOME to keep data in", hint: "Name a folder: --data DIR")
        }
        return "\(home)/.local/state/touchline"
    }

    private static func roles(_ text: String?) throws(SettingsFault) -> Set<Role> {
        guard let text else { return Set(Role.allCases) }
        var roles: Set<Role> = []
        for name in text.split(separator: ",").map({ $0.filter { $0 != " " } }) {
            guard let role = Role(rawValue: name) else {
                throw SettingsFault(
                    "--roles does not know “\(name)”",
                    hint: "There are api, dispatch and housekeeping."
                )
            }
            roles.insert(role)
        }
        guard !roles.isEmpty else {
            throw SettingsFault("--roles names no role", hint: "There are api, dispatch and housekeeping.")
        }
        return roles
    }

    private static func endpoints(
        of environment: APNsEnvironment,
        _ source: Source
    ) throws(SettingsFault) -> Endpoints {
        let flag = "--apns-\(environment.rawValue)"
        let push =
            try source.hostPort("\(flag)-push")
            ?? HostPort(host: environment.pushHost, port: environment.pushPort)
        return Endpoints(
            push: push,
            broadcast: try source.hostPort("\(flag)-broadcast") ?? push,
            manage: try source.hostPort("\(flag)-manage")
                ?? HostPort(host: environment.manageHost, port: environment.managePort)
        )
    }

    private static func tls(_ source: Source) throws(SettingsFault) -> TLSFiles? {
        switch (source.value("--tls-cert"), source.value("--tls-key")) {
        case (let certificate?, let key?): TLSFiles(certificate: certificate, key: key)
        case (nil, nil): nil
        case (nil, _): throw SettingsFault("--tls-key needs --tls-cert beside it")
        case (_, nil): throw SettingsFault("--tls-cert needs --tls-key beside it")
        }
    }

    private static func masterKey(_ source: Source, isEmbedded: Bool) throws(SettingsFault) -> MasterKeySource {
        switch (source.value("--master-key-file"), source.secret("TOUCHLINE_MASTER_KEY")) {
        case (let file?, nil): return .file(file)
        case (nil, let text?): return .base64(text)
        case (_?, _?):
            throw SettingsFault("both --master-key-file and TOUCHLINE_MASTER_KEY are given", hint: "Keep one of them.")
        case (nil, nil):
            guard !isEmbedded else { return .dataFolder }
            throw SettingsFault(
                "there is no master key, which encrypts the apps' keys in the database",
                hint: "Make one with `head -c 32 /dev/urandom | base64 > FILE`, and give --master-key-file FILE."
            )
        }
    }

    /// One of the words that a setting knows.
    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ source: Source,
        _ flag: String
    ) throws(SettingsFault) -> Word? {
        guard let text = source.value(flag) else { return nil }
        guard let word = Word(rawValue: text) else {
            throw SettingsFault(
                "\(flag) does not know “\(text)”",
                hint: "It is one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))."
            )
        }
        return word
    }

    private static func number(_ text: String?, in range: ClosedRange<Int>) throws(SettingsFault) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw SettingsFault(
                "--database-connections must be from \(range.lowerBound) to \(range.upperBound), not “\(text)”"
            )
        }
        return number
    }

    private static func seconds(_ text: String?, flag: String) throws(SettingsFault) -> Duration? {
        guard let text else { return nil }
        guard let seconds = Int(text), (0...86_400).contains(seconds) else {
            throw SettingsFault("\(flag) must be a number of seconds, not “\(text)”")
        }
        return .seconds(seconds)
    }
}

extension Settings.HostPort {
    /// `host:port`, `[::1]:port`.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex else { return nil }
        guard let port = Int(text[text.index(after: colon)...]), (0...65_535).contains(port) else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, !host.contains(where: \.isWhitespace) else { return nil }
        self.init(host: host, port: port)
    }
}
