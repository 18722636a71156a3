internal import Executables

/// What `loadtest path` is told.
struct PathOptions: Sendable {
    var matches: Int
    var tenants: Int
    /// Update tokens of each match.
    var tokens: Int
    /// Phones on each match's channel; 0: the app has no channels.
    var channelPhones: Int
    var events: Int
    var rate: Int
    var keyShare: Int
    /// Phones that register while the events go out, over all matches.
    var registrations: Int
    var registrationRate: Int
    var isLean: Bool
    var roundTripMilliseconds: Int
    var patienceSeconds: Int
    var seed: Int
    var faults: FaultPlan?
    var scenario: String?
    var output: ReportOutput

    static let declared: [Option] =
        [
            Option("--matches", "N", default: "10", "live at once"),
            Option("--tenants", "N", default: "1", "the matches are dealt out to them"),
            Option("--tokens", "N", default: "1000", otherNames: ["--phones"], "update tokens of each match"),
            Option("--channel-phones", "N", default: "100", "phones on each match's channel; 0: no channels"),
            Option("--events", "N", otherNames: ["-n"], "in all (default: --rate times --seconds)"),
            Option("--seconds", "N", default: "10", otherNames: ["-D", "--duration"], "how long events are posted"),
            Option("--rate", "N", default: "20", otherNames: ["--rps", "-r"], "events a second, of all matches"),
            Option("--key-share", "PERCENT", default: "20", "how many of the events are key, with an alert"),
            Option("--registrations", "N", default: "0", "phones that register while events go out"),
            Option("--registration-rate", "N", default: "5000", "how many of them a second"),
            Option("--lean", "the light sink: more pushes a second, but nobody looks at what phones show"),
            Option("--patience", "SECONDS", default: "120", "how long everything may take to settle"),
        ] + CommonOptions.simulator + CommonOptions.output

    init(_ typed: Invocation) throws(Failure) {
        let invocation = try Scenario.applied(to: typed)
        matches = try invocation.number("--matches", in: 1...10_000)
        tenants = min(try invocation.number("--tenants", in: 1...1_000), matches)
        tokens = try invocation.number("--tokens", in: 0...10_000_000)
        channelPhones = try invocation.number("--channel-phones", in: 0...10_000_000)
        rate = try invocation.number("--rate", in: 1...100_000)
        let seconds = try invocation.number("--seconds", in: 1...86_400)
        events = try invocation.integer("--events", in: 1...10_000_000) ?? rate * seconds
        keyShare = try invocation.number("--key-share", in: 0...100)
        registrations = try invocation.number("--registrations", in: 0...10_000_000)
        registrationRate = try invocation.number("--registration-rate", in: 1...1_000_000)
        isLean = invocation.isOn("--lean")
        roundTripMilliseconds = try invocation.number("--rtt", in: 0...10_000)
        patienceSeconds = try invocation.number("--patience", in: 1...86_400)
        seed = try invocation.number("--seed", in: 0...Int(Int32.max))
        faults = try FaultPlan(invocation)
        scenario = invocation.value("--scenario")
        output = try ReportOutput(invocation)
        if tokens + channelPhones + registrations == 0 {
            throw Failure(.wrongUse, "nobody follows these matches: --tokens or --channel-phones")
        }
    }

    var simulatorArguments: [String] {
        ["--rtt", String(roundTripMilliseconds), "--seed", String(seed)] + (isLean ? ["--lean"] : [])
    }

    /// For the report.
    var settings: [String: Setting] {
        var settings: [String: Setting] = [
            "matches": .number(matches), "tenants": .number(tenants), "tokens": .number(tokens),
            "channel_phones": .number(channelPhones), "events": .number(events), "rate": .number(rate),
            "key_share": .number(keyShare), "registrations": .number(registrations),
            "rtt_ms": .number(roundTripMilliseconds), "seed": .number(seed),
            "sink": .text(isLean ? "apns-simulator --lean" : "apns-simulator"),
        ]
        if let scenario { settings["scenario"] = .text(scenario) }
        return settings
    }
}
