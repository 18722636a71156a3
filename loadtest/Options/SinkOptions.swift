internal import Executables

/// What pushes are sent to.
struct SinkOptions: Sendable {
    var roundTripMilliseconds: Int
    /// The whole simulator instead of the light sink.
    var isFaithful: Bool
    /// Of a simulator that runs already.
    var readyFile: String?
    var target: HostAndPort?
    var caFile: String?
    /// What the simulator does wrong.
    var faults: FaultPlan?
    var scenario: String?
    /// For Apple's own hosts, which know no credential of the simulator's.
    var credential: Credential?

    struct Credential: Sendable {
        let keyFile: String
        let teamID: String
        let keyID: String
        let bundle: String
    }

    static let declared: [Option] =
        CommonOptions.simulator + [
            Option("--faithful", "the whole simulator: it reads and checks every push, at ten times the cost"),
            Option("--simulator", "FILE", "the ready-file of a simulator that runs already"),
            Option(
                "--target",
                "HOST:PORT",
                otherNames: ["--host", "--url", "--server"],
                "another listener that speaks HTTP/2 over TLS, such as nghttpd"
            ),
            Option("--ca", "FILE", otherNames: ["--cacert"], "the roots to trust with --target"),
            Option(Self.appleFlag, "with --target: yes, these are Apple's servers"),
            Option("--p8", "FILE", "with --target: the credential's key"),
            Option("--team-id", "ID", default: "TEAM000001", "with --p8"),
            Option("--key-id", "ID", default: "KEY0000001", "with --p8"),
            Option("--bundle", "ID", default: "com.example.scores", "the app's bundle id"),
        ]

    private static let appleFlag = "--i-really-want-to-send-this-load-to-apple"

    init(_ invocation: Invocation) throws(Failure) {
        roundTripMilliseconds = try invocation.number("--rtt", in: 0...10_000)
        isFaithful = invocation.isOn("--faithful")
        readyFile = invocation.value("--simulator")
        target = try invocation.value("--target").map { text throws(Failure) in try HostAndPort(text) }
        caFile = invocation.value("--ca")
        scenario = invocation.value("--scenario")
        faults = try FaultPlan(invocation)
        credential = Credential(
            keyFile: invocation.value("--p8") ?? "",
            teamID: try invocation.required("--team-id"),
            keyID: try invocation.required("--key-id"),
            bundle: try invocation.required("--bundle")
        )
        try check(invocation)
    }

    var name: String {
        if let target { return "\(target.host):\(target.port)" }
        return (readyFile != nil ? "a running simulator" : "apns-simulator") + (isFaithful ? "" : " --lean")
    }

    /// Where nothing goes wrong, the light sink is spared the reading of ids: it has no answer to give twice.
    var countsDoubles: Bool { faults != nil && !isFaithful && readyFile == nil }

    private func check(_ invocation: Invocation) throws(Failure) {
        if target != nil, readyFile != nil || faults != nil || isFaithful {
            throw Failure(.wrongUse, "--target excludes --simulator, --faithful and --faults")
        }
        if roundTripMilliseconds > 0, target != nil || readyFile != nil {
            throw Failure(.wrongUse, "--rtt is for a simulator that is started here")
        }
        if let target, target.isApples, !invocation.isOn(Self.appleFlag) {
            throw Failure(
                .wrongUse,
                "\(target.host) is Apple's: load tests do not go there",
                hint: "If you have Apple's leave: \(Self.appleFlag)"
            )
        }
    }
}
