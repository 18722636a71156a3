internal import Executables

/// What `loadtest chaos` is told.
struct ChaosOptions: Sendable {
    var seconds: Int
    var seed: Int
    var services: Int
    /// Live at a time: as soon as one has ended, the next begins.
    var matches: Int
    /// That register when a match begins.
    var phones: Int
    /// Events a second, of all matches.
    var rate: Int
    var groups: Set<ChaosFault.Group>
    var paceMilliseconds: Int
    var patienceSeconds: Int
    var showsPlan: Bool
    var logFolder: String?
    var output: ReportOutput

    static let declared: [Option] =
        [
            Option("--minutes", "N", default: "1", otherNames: ["-m", "--duration"], "how long things go wrong"),
            Option("--seconds", "N", "the same, instead of --minutes"),
            Option("--seed", "N", default: "1", "what goes wrong and when: the same for the same seed"),
            Option("--services", "N", default: "3", otherNames: ["--processes"], "processes of touchline serve"),
            Option("--matches", "N", default: "6", "live at a time"),
            Option("--phones", "N", default: "60", otherNames: ["--tokens"], "that register first, of each match"),
            Option("--rate", "N", default: "6", otherNames: ["--rps"], "events a second, of all matches"),
            Option("--faults", "LIST", default: "service,database,apns,host", "what goes wrong, or none"),
            Option("--pace", "MS", default: "3000", "from one fault to the next, on average"),
            Option("--patience", "SECONDS", default: "180", "how long everything may take to settle"),
            Option("--plan", "print what would go wrong, and do nothing"),
            Option("--logs", "DIR", "keep all logs there, and what phones and tables had"),
        ] + CommonOptions.output.filter { $0.name != "--report" }

    init(_ invocation: Invocation) throws(Failure) {
        if let number = try invocation.integer("--seconds", in: 5...864_000) {
            seconds = number
        } else {
            seconds = try invocation.number("--minutes", in: 1...14_400) * 60
        }
        seed = try invocation.number("--seed", in: 0...Int(Int32.max))
        services = try invocation.number("--services", in: 1...16)
        matches = try invocation.number("--matches", in: 1...1_000)
        phones = try invocation.number("--phones", in: 1...100_000)
        rate = try invocation.number("--rate", in: 1...10_000)
        groups = try Self.groups(try invocation.required("--faults"))
        paceMilliseconds = try invocation.number("--pace", in: 100...3_600_000)
        patienceSeconds = try invocation.number("--patience", in: 1...86_400)
        showsPlan = invocation.isOn("--plan")
        logFolder = invocation.value("--logs")
        output = try ReportOutput(invocation, hasPage: false)
    }

    private static func groups(_ list: String) throws(Failure) -> Set<ChaosFault.Group> {
        if list == "none" { return [] }
        var groups: Set<ChaosFault.Group> = []
        for name in list.split(separator: ",") {
            guard let group = ChaosFault.Group(rawValue: String(name)) else {
                let known = ChaosFault.Group.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure(.wrongUse, "--faults takes \(known), or none, not “\(name)”")
            }
            groups.insert(group)
        }
        return groups
    }

    var plan: ChaosPlan {
        ChaosPlan(
            seed: seed,
            seconds: seconds,
            services: services,
            groups: groups,
            paceMilliseconds: paceMilliseconds
        )
    }

    /// For the report.
    var settings: [String: Setting] {
        [
            "seconds": .number(seconds), "seed": .number(seed), "services": .number(services),
            "matches": .number(matches), "phones": .number(phones), "rate": .number(rate),
            "faults": .text(groups.isEmpty ? "none" : groups.map(\.rawValue).sorted().joined(separator: ",")),
            "pace_ms": .number(paceMilliseconds),
        ]
    }
}
