internal import Executables

/// What `loadtest ingest` is told.
struct IngestOptions: Sendable {
    var registrations: Int
    /// A second; nil: as many as go.
    var rate: Int?
    var linesPerCall: Int
    var bulkConnections: Int
    var singles: Int
    var connections: Int
    var matches: Int
    var tenants: Int
    var eventRate: Int
    var keyShare: Int
    var patienceSeconds: Int
    var seed: Int
    var output: ReportOutput

    static let declared: [Option] =
        [
            Option("--registrations", "N", default: "100000", otherNames: ["-n"], "phones that register, in bulk"),
            Option("--rate", "N", otherNames: ["--rps", "-r"], "of them a second (default: as many as go)"),
            Option("--lines", "N", default: "2000", otherNames: ["--batch"], "registrations a call"),
            Option("--bulk-connections", "N", default: "8", "that carry these calls"),
            Option("--singles", "N", default: "20000", "phones that register one a call, afterwards"),
            Option(
                "--connections",
                "N",
                default: "64",
                otherNames: ["-c"],
                "that carry single calls, one at a time each"
            ),
            Option("--matches", "N", default: "100", "that phones follow, and that get events"),
            Option("--tenants", "N", default: "10", "the matches are dealt out to them"),
            Option("--event-rate", "N", default: "50", "events a second, of all matches, meanwhile"),
            Option("--key-share", "PERCENT", default: "10", "how many of the events are key, with an alert"),
            Option("--patience", "SECONDS", default: "120", "how long everything may take to settle"),
            Option("--seed", "N", default: "1", "the same tokens each run"),
            Option("--scenario", "NAME", "settings by name or file; `loadtest scenarios` lists them"),
        ] + CommonOptions.output

    init(_ typed: Invocation) throws(Failure) {
        let invocation = try Scenario.applied(to: typed)
        registrations = try invocation.number("--registrations", in: 1...10_000_000)
        rate = try invocation.integer("--rate", in: 1...1_000_000)
        linesPerCall = try invocation.number("--lines", in: 1...20_000)
        bulkConnections = try invocation.number("--bulk-connections", in: 1...256)
        singles = try invocation.number("--singles", in: 0...10_000_000)
        connections = try invocation.number("--connections", in: 1...1_000)
        matches = try invocation.number("--matches", in: 1...10_000)
        tenants = min(try invocation.number("--tenants", in: 1...1_000), matches)
        eventRate = try invocation.number("--event-rate", in: 1...100_000)
        keyShare = try invocation.number("--key-share", in: 0...100)
        patienceSeconds = try invocation.number("--patience", in: 1...86_400)
        seed = try invocation.number("--seed", in: 0...Int(Int32.max))
        output = try ReportOutput(invocation)
    }

    /// For the report.
    var settings: [String: Setting] {
        var settings: [String: Setting] = [
            "registrations": .number(registrations), "lines": .number(linesPerCall), "singles": .number(singles),
            "bulk_connections": .number(bulkConnections), "connections": .number(connections),
            "matches": .number(matches), "tenants": .number(tenants), "event_rate": .number(eventRate),
            "key_share": .number(keyShare), "seed": .number(seed), "sink": .text("apns-simulator --lean"),
        ]
        if let rate { settings["rate"] = .number(rate) }
        return settings
    }
}
