internal import APNsProtocol
internal import Core
internal import Executables

extension HandPush {
    /// Options of all three commands.
    static let options: [Option] =
        SigningKey.options + [
            Option("--bundle", "BUNDLE", isRequired: true, "the app's bundle id, bare"),
            Option("--environment", "ENV", default: "production", "sandbox (builds from Xcode) or production"),
            Option("--token", "HEX", "the phone's token"),
            Option("--content-state", "JSON|@FILE|-", "as the app's ContentState decodes it; - is standard input"),
            Option("--contract", "JSON|@FILE", "check the content state against this contract first"),
            Option("--alert-title", "TEXT", "with --alert-body: lights the phone up"),
            Option("--alert-body", "TEXT", "with --alert-title"),
            Option("--priority", "5|10", default: "10", "10: now, counts against the phone's budget"),
            Option("--stale-after", "SECONDS", "when the card is to look stale"),
            Option("--relevance-score", "NUMBER", "which card comes first"),
            Option("--expires-after", "SECONDS", "how long APNs may keep it for a phone that is away; 0: not at all"),
            Option("--timestamp", "SECONDS", "UNIX time of the state, instead of now"),
            Option("--host", "HOST:PORT", "instead of Apple's, for a simulator"),
            Option("--ca", "FILE", otherNames: ["--apns-ca"], "roots to trust instead of the system's"),
            Option("--dry-run", "print the request, and send nothing"),
            Option("--json", "for programs"),
        ]

    static let channelOptions = [
        Option("--channel", "ID", "instead of --token: the broadcast channel"),
        Option("--storage-policy", "0|1", "of the channel, if known: 0 takes no --expires-after"),
    ]

    /// - Parameters:
    ///   - invocation: Of one of the three commands.
    ///   - event: Which one.
    ///   - now: UNIX seconds.
    /// - Throws: `wrongUse` for what is missing or cannot be.
    init(_ invocation: Invocation, _ event: LiveActivityEvent, now: Int64) throws(Failure) {
        bundle = try invocation.wrapped("--bundle")
        let name = try invocation.required("--environment")
        guard let environment = APNsEnvironment(rawValue: name) else {
            throw Failure(.wrongUse, "--environment is sandbox or production, not “\(name)”")
        }
        self.environment = environment
        route = try Self.route(invocation, event, bundle: bundle)
        composer = PayloadComposer(
            event: event,
            stamp: Int64(try invocation.integer("--timestamp", in: 0...Int(Int32.max) * 2) ?? Int(now)),
            contentState: try Self.contentState(invocation),
            alert: try Self.alert(invocation),
            relevanceScore: try Self.relevanceScore(invocation)
        )
        if let seconds = try invocation.integer("--stale-after", in: 1...31_536_000) {
            composer.staleDate = now + Int64(seconds)
        }
        priority = try invocation.integer("--priority", in: 0...100) ?? 10
        let lifetime = try invocation.integer("--expires-after", in: 0...2_592_000).map(Int64.init)
        expiration = Self.expiration(lifetime, event, route, staleDate: composer.staleDate, now: now)
        guard event != .start else {
            try readStart(invocation)
            return
        }
        if let policy = try invocation.integer("--storage-policy", in: 0...1) {
            storagePolicy = StoragePolicy(rawValue: policy)
        }
        if event == .end, let seconds = try invocation.integer("--dismiss-after", in: 0...31_536_000) {
            composer.dismissalDate = now + Int64(seconds)
        }
    }

    private mutating func readStart(_ invocation: Invocation) throws(Failure) {
        collapseID = try invocation.optionalWrapped("--collapse-id")
        let channel: ChannelID? = try invocation.optionalWrapped("--listen-channel")
        let type: AttributesType? = try invocation.optionalWrapped("--attributes-type")
        let attributes = try Self.object("--attributes", invocation)
        switch (type, attributes) {
        case (let type?, let attributes?):
            composer.start = .init(
                attributesType: type,
                attributes: attributes,
                updates: channel.map { .channel($0) }
            )
        case (nil, nil): break
        case (nil, _?):
            let hint = "Try: \(invocation.command.example)"
            throw Failure(.wrongUse, "--attributes-type is missing", hint: hint)
        case (_?, nil): throw Failure(.wrongUse, "--attributes is missing", hint: "Without fields: --attributes '{}'")
        }
    }

    private static func route(
        _ invocation: Invocation,
        _ event: LiveActivityEvent,
        bundle: BundleID
    ) throws(Failure) -> PushRoute {
        let token: DeviceToken? = try invocation.optionalWrapped("--token")
        let channel: ChannelID? = event == .start ? nil : try invocation.optionalWrapped("--channel")
        switch (token, channel) {
        case (let token?, nil): return .device(token)
        case (nil, let channel?): return .broadcast(bundle, channel)
        case (nil, nil):
            throw Failure(
                .wrongUse,
                event == .start ? "--token is missing" : "there is neither --token nor --channel",
                hint: "Try: \(invocation.command.example)"
            )
        case (_?, _?): throw Failure(.wrongUse, "--token and --channel exclude each other: a push goes one way")
        }
    }

    /// Until when APNs may keep it: by default as Touchline's own pushes; on channels, whose policy is not known, not at all.
    private static func expiration(
        _ lifetime: Int64?,
        _ event: LiveActivityEvent,
        _ route: PushRoute,
        staleDate: Int64?,
        now: Int64
    ) -> Int64 {
        if let lifetime { return lifetime == 0 ? 0 : now + lifetime }
        switch (route, event) {
        case (.broadcast, _): return 0
        case (.device, .start): return now + 600
        case (.device, .end): return now + 14_400
        case (.device, .update): return staleDate ?? now + 900
        }
    }

    private static func contentState(_ invocation: Invocation) throws(Failure) -> RawJSON? {
        guard let state = try value("--content-state", invocation) else { return nil }
        guard case .object = state.content else {
            throw Failure(.wrongUse, "--content-state is \(state.kindName), not an object")
        }
        guard let contract = try value("--contract", invocation) else { return state.rawJSON }
        do throws(Problem) {
            // As `type set` takes it, or with `content_state` around it as the API does.
            let fields = contract.member("content_state") ?? contract
            return try Contract(fields, path: "contract").check(state, path: "content_state").json
        } catch {
            throw Failure(.wrongUse, error.detail, hint: error.hint)
        }
    }

    private static func object(_ option: String, _ invocation: Invocation) throws(Failure) -> RawJSON? {
        guard let value = try value(option, invocation) else { return nil }
        guard case .object = value.content else {
            throw Failure(.wrongUse, "\(option) is \(value.kindName), not an object")
        }
        return value.rawJSON
    }

    private static func value(_ option: String, _ invocation: Invocation) throws(Failure) -> JSONValue? {
        guard let text = invocation.value(option) else { return nil }
        let bytes: [UInt8] =
            switch text {
            case "-": try File.read("-")
            case let name where name.hasPrefix("@"): try File.read(String(name.dropFirst()))
            default: Array(text.utf8)
            }
        do throws(Problem) {
            return try JSONScanner.decode(bytes)
        } catch {
            throw Failure(.wrongUse, "\(option): \(error.detail)", hint: error.hint)
        }
    }

    private static func alert(_ invocation: Invocation) throws(Failure) -> RawJSON? {
        switch (invocation.value("--alert-title"), invocation.value("--alert-body")) {
        case (nil, nil): return nil
        case (let title?, let body?):
            for (option, text) in [("--alert-title", title), ("--alert-body", body)] where !EventAlert.isVisible(text) {
                throw Failure(.wrongUse, "\(option) is empty: iOS shows nothing then, and a start is used up")
            }
            let alert: JSONOutput = ["title": .string(title), "body": .string(body), "sound": "default"]
            return RawJSON(text: alert.text)
        default: throw Failure(.wrongUse, "--alert-title and --alert-body go together")
        }
    }

    private static func relevanceScore(_ invocation: Invocation) throws(Failure) -> String? {
        guard let text = invocation.value("--relevance-score") else { return nil }
        guard case .number(let digits)? = (try? JSONScanner.read(Array(text.utf8)))?.content else {
            throw Failure(.wrongUse, "--relevance-score is a number, not “\(text)”")
        }
        return digits
    }
}
