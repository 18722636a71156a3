internal import Executables

/// The options that several tests have, each declared once.
enum CommonOptions {
    static let output: [Option] = [
        Option("--json", "FILE", otherNames: ["--output", "-o"], "the figures, for programs; - is standard output"),
        Option("--report", "FILE.html", otherNames: ["--html"], "one page with plots, for people"),
        Option("--quiet", otherNames: ["-q", "--silent"], "no table, and no progress on a terminal"),
    ]

    static let simulator: [Option] = [
        Option(
            "--rtt",
            "MS",
            default: "0",
            otherNames: ["--latency", "--delay"],
            "a round trip that the simulator adds"
        ),
        Option("--faults", "FILE", "what the simulator does wrong: a scenario, or its control API's rules"),
        Option("--scenario", "NAME", "settings and faults by name or file; `loadtest scenarios` lists them"),
        Option("--seed", "N", default: "1", "the same ids, tokens and shares of faults each run"),
    ]
}

extension Invocation {
    /// The option's value as a whole number, which its default makes sure of.
    func number(_ name: String, in range: ClosedRange<Int>) throws(Failure) -> Int {
        if let value = try integer(name, in: range) { return value }
        return Int(try required(name)) ?? range.lowerBound
    }
}
