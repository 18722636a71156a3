internal import Executables

/// What `loadtest season` is told.
struct SeasonOptions: Sendable {
    var matches: Int
    /// From the first kick-off to the last.
    var seconds: Int
    var seed: Int
    var services: Int
    /// Of the app, in seconds: how long before its kick-off a match gets its channel, and how long it keeps it.
    var lead: Int
    var linger: Int
    /// From one `kill -9` to the next, on average.
    var paceMilliseconds: Int
    /// What is lost of APNs' answers about channels, in percent.
    var lostPercent: Int
    /// How far the clock is set on whenever all services have been killed.
    var skipSeconds: Int
    var patienceSeconds: Int
    var logFolder: String?
    var output: ReportOutput

    static let declared: [Option] =
        [
            Option("--matches", "N", default: "380", "fixtures, a tenth of them postponed, some deleted or abandoned"),
            Option(
                "--minutes",
                "N",
                default: "5",
                otherNames: ["-m", "--duration"],
                "from the first kick-off to the last"
            ),
            Option("--seconds", "N", "the same, instead of --minutes"),
            Option("--seed", "N", default: "1", "what goes wrong and when: the same for the same seed"),
            Option("--services", "N", default: "2", otherNames: ["--processes"], "processes of touchline serve"),
            Option("--lead", "SECONDS", default: "60", "the app's channel lead, in place of a day"),
            Option("--linger", "SECONDS", default: "20", "the app's channel linger, in place of four hours"),
            Option("--pace", "MS", default: "5000", "from one kill -9 to the next, on average; 0: none"),
            Option("--lost", "PERCENT", default: "12", "of APNs' answers about channels that are lost"),
            Option("--skip", "SECONDS", default: "0", "set the clock on whenever all services have been killed"),
            Option("--patience", "SECONDS", default: "300", "how long everything may take to settle"),
            Option("--logs", "DIR", "keep the logs of all processes there"),
        ] + CommonOptions.output.filter { $0.name != "--report" }

    init(_ invocation: Invocation) throws(Failure) {
        matches = try invocation.number("--matches", in: 1...5_000)
        if let number = try invocation.integer("--seconds", in: 5...86_400) {
            seconds = number
        } else {
            seconds = try invocation.number("--minutes", in: 1...1_440) * 60
        }
        seed = try invocation.number("--seed", in: 0...Int(Int32.max))
        services = try invocation.number("--services", in: 1...16)
        lead = try invocation.number("--lead", in: 1...86_400)
        linger = try invocation.number("--linger", in: 0...86_400)
        paceMilliseconds = try invocation.number("--pace", in: 0...3_600_000)
        lostPercent = try invocation.number("--lost", in: 0...90)
        skipSeconds = try invocation.number("--skip", in: 0...86_400)
        patienceSeconds = try invocation.number("--patience", in: 1...86_400)
        logFolder = invocation.value("--logs")
        output = try ReportOutput(invocation, hasPage: false)
    }

    /// The line that repeats it.
    var command: String {
        let values = [
            ("seed", seed), ("seconds", seconds), ("matches", matches), ("services", services), ("lead", lead),
            ("linger", linger), ("pace", paceMilliseconds), ("lost", lostPercent), ("skip", skipSeconds),
        ]
        let words = values.compactMap { name, value -> String? in
            let standard = Self.declared.first { $0.name == "--\(name)" }?.fallback
            return standard == String(value) && name != "seed" ? nil : "--\(name) \(value)"
        }
        return (["loadtest season"] + words).joined(separator: " ")
    }

    /// For the report.
    var settings: [String: Setting] {
        [
            "matches": .number(matches), "seconds": .number(seconds), "seed": .number(seed),
            "services": .number(services), "channel_lead": .number(lead), "channel_linger": .number(linger),
            "pace_ms": .number(paceMilliseconds), "lost_percent": .number(lostPercent), "skip": .number(skipSeconds),
        ]
    }
}
