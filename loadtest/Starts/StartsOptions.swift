internal import Executables

/// What `loadtest starts` is told.
struct StartsOptions: Sendable {
    /// Nine in ten follow one of the match's two teams, one in twenty both, one in twenty neither.
    var devices: Int
    /// The same again and again, with a match of its own each time.
    var rounds: Int
    var kills: Int
    /// In place of kills: SIGSTOP of one of several services, for longer than its claim holds.
    var stops: Bool
    var seed: Int
    var services: Int
    /// A round trip that the simulator adds.
    var rtt: Int
    var patienceSeconds: Int
    var logFolder: String?
    var output: ReportOutput

    static let declared: [Option] =
        [
            Option(
                "--devices",
                "N",
                default: "10000",
                "with push-to-start tokens, of one match's followers and others"
            ),
            Option("--rounds", "N", default: "1", "matches, one after the other, each with devices of its own"),
            Option("--kills", "N", default: "2", "kill -9 of the process that sends, in each round"),
            Option("--stop", "stop one of several services past its claim, and let it go on, instead of kill -9"),
            Option("--seed", "N", default: "1", "when services are killed: the same for the same seed"),
            Option("--services", "N", default: "1", otherNames: ["--processes"], "processes of touchline serve"),
            Option("--rtt", "MS", default: "5", "a round trip to APNs"),
            Option("--patience", "SECONDS", default: "180", "how long a round may take"),
            Option("--logs", "DIR", "keep the logs of all processes there"),
        ] + CommonOptions.output.filter { $0.name != "--report" }

    init(_ invocation: Invocation) throws(Failure) {
        devices = try invocation.number("--devices", in: 20...1_000_000)
        rounds = try invocation.number("--rounds", in: 1...1_000)
        kills = try invocation.number("--kills", in: 0...100)
        seed = try invocation.number("--seed", in: 0...Int(Int32.max))
        stops = invocation.isOn("--stop")
        services = try invocation.number("--services", in: 1...16)
        guard !stops || services > 1 else {
            throw Failure(.wrongUse, "--stop needs another service that goes on: --services 2")
        }
        rtt = try invocation.number("--rtt", in: 0...10_000)
        patienceSeconds = try invocation.number("--patience", in: 10...86_400)
        logFolder = invocation.value("--logs")
        output = try ReportOutput(invocation, hasPage: false)
    }

    /// The line that repeats it.
    var command: String {
        let values = [
            ("seed", seed), ("devices", devices), ("rounds", rounds), ("kills", kills), ("services", services),
            ("rtt", rtt),
        ]
        let words = values.compactMap { name, value -> String? in
            let standard = Self.declared.first { $0.name == "--\(name)" }?.fallback
            return standard == String(value) && name != "seed" ? nil : "--\(name) \(value)"
        }
        return (["loadtest starts"] + words + (stops ? ["--stop"] : [])).joined(separator: " ")
    }

    /// For the report.
    var settings: [String: Setting] {
        [
            "devices": .number(devices), "rounds": .number(rounds), "kills": .number(kills), "seed": .number(seed),
            "services": .number(services), "rtt_ms": .number(rtt), "faults": .text(stops ? "stop" : "kill"),
        ]
    }
}
