internal import Executables

/// What `loadtest pool` is told.
struct PoolOptions: Sendable {
    /// How much is sent; with `seconds`, as much as goes.
    var pushes: Int?
    var seconds: Int?
    /// Pushes a second; nil: as many as the streams hold.
    var rate: Int?
    var tickMilliseconds: Int
    var connections: Int
    var streams: Int
    var loops: Int
    var tenants: Int
    var mix: Mix
    /// Pushes offered at once; nil: twice what the streams hold.
    var inHand: Int?
    /// Channels' pushes go over the tokens' connections.
    var isOneLane: Bool
    var payloadBytes: Int
    var batch: Int
    var deadlineSeconds: Int
    var lateMilliseconds: Int
    var seed: Int
    var sink: SinkOptions
    var baselineRounds: Int?
    var output: ReportOutput

    static let declared: [Option] =
        [
            Option(
                "--pushes",
                "N",
                otherNames: ["-n", "--requests", "--count", "--total"],
                "in all (default 1000000)"
            ),
            Option("--seconds", "N", otherNames: ["-D", "--duration", "--time"], "send so long instead"),
            Option(
                "--rate",
                "N",
                otherNames: ["--rps", "--qps", "-r"],
                "pushes a second, due whether or not others have ended"
            ),
            Option("--tick", "MS", default: "10", "with --rate: pushes become due in groups, so far apart"),
            Option(
                "--connections",
                "N",
                default: "2",
                otherNames: ["-c", "--clients", "--conns"],
                "of a tenant's lane on one loop, at most"
            ),
            Option(
                "--streams",
                "N",
                default: "1000",
                otherNames: ["-m", "--max-concurrent-streams", "--concurrency"],
                "of a connection, at most; the peer's limit counts too"
            ),
            Option("--loops", "N", default: "1", otherNames: ["-t", "--threads", "--workers"], "threads of the pool"),
            Option("--tenants", "N", default: "1", "so many credentials, each with connections of its own"),
            Option("--mix", "CHANNEL:TOKEN", default: "0:1", "pushes to channels, urgent, among those to tokens"),
            Option("--one-lane", "with --mix: pushes to channels over the tokens' connections"),
            Option("--in-hand", "N", "pushes offered at once (default twice what the streams hold)"),
            Option(
                "--payload-bytes",
                "N",
                default: "402",
                otherNames: ["--body", "--size", "--payload"],
                "the body of each push, 80 to 4096"
            ),
            Option("--batch", "N", default: "500", "pushes a call of the pool"),
            Option("--deadline", "SECONDS", default: "60", otherNames: ["--timeout"], "of each batch"),
            Option("--late", "MS", default: "1000", "a push counts as late that took longer"),
        ] + SinkOptions.declared + [
            Option("--baseline", "h2load", "h2load beside us, in turn (Debian: nghttp2-client)"),
            Option("--rounds", "N", default: "5", "of each, with --baseline"),
        ] + CommonOptions.output

    init(_ typed: Invocation) throws(Failure) {
        let invocation = try Scenario.applied(to: typed)
        pushes = try invocation.integer("--pushes", in: 1...1_000_000_000)
        seconds = try invocation.integer("--seconds", in: 1...86_400)
        if pushes != nil, seconds != nil {
            // What is typed stands in for the scenario's.
            switch (typed.value("--pushes"), typed.value("--seconds")) {
            case (nil, .some): pushes = nil
            case (.some, nil): seconds = nil
            default: throw Failure(.wrongUse, "--pushes and --seconds exclude each other")
            }
        }
        if pushes == nil, seconds == nil { pushes = 1_000_000 }
        rate = try invocation.integer("--rate", in: 1...10_000_000)
        tickMilliseconds = try invocation.number("--tick", in: 1...60_000)
        connections = try invocation.number("--connections", in: 1...1000)
        streams = try invocation.number("--streams", in: 1...100_000)
        loops = try invocation.number("--loops", in: 1...64)
        tenants = try invocation.number("--tenants", in: 1...1000)
        mix = try Mix(invocation.required("--mix"))
        inHand = try invocation.integer("--in-hand", in: 1...10_000_000)
        isOneLane = invocation.isOn("--one-lane")
        payloadBytes = try invocation.number("--payload-bytes", in: 80...4096)
        batch = try invocation.number("--batch", in: 1...100_000)
        deadlineSeconds = try invocation.number("--deadline", in: 1...3600)
        lateMilliseconds = try invocation.number("--late", in: 1...3_600_000)
        seed = try invocation.number("--seed", in: 0...Int(Int32.max))
        sink = try SinkOptions(invocation)
        output = try ReportOutput(invocation)
        baselineRounds = nil
        if let baseline = invocation.value("--baseline") {
            guard baseline == "h2load" else {
                throw Failure(.wrongUse, "--baseline is h2load, not “\(baseline)”", hint: "Try: --baseline h2load")
            }
            baselineRounds = try invocation.number("--rounds", in: 1...100)
        }
        try check(invocation)
    }

    private func check(_ invocation: Invocation) throws(Failure) {
        if mix.channels > 0, sink.isFaithful {
            throw Failure(.wrongUse, "--mix with channels is for the light sink: --faithful knows no channels of yours")
        }
        guard baselineRounds != nil else { return }
        if mix.channels > 0 || tenants > 1 || loops > 1 || sink.faults != nil {
            throw Failure(
                .wrongUse,
                "--baseline compares plain pushes: without --mix, --tenants, --loops, --faults",
                hint: "Try: loadtest pool --baseline h2load --connections 4"
            )
        }
        if sink.target != nil || sink.readyFile != nil {
            throw Failure(.wrongUse, "--baseline starts its own listener: without --target and --simulator")
        }
    }

    /// For the report.
    var settings: [String: Setting] {
        var settings: [String: Setting] = [
            "connections": .number(connections), "streams": .number(streams), "loops": .number(loops),
            "tenants": .number(tenants), "payload_bytes": .number(payloadBytes), "batch": .number(batch),
            "late_ms": .number(lateMilliseconds), "seed": .number(seed),
            "mix": .text("\(mix.channels):\(mix.tokens)"), "rtt_ms": .number(sink.roundTripMilliseconds),
            "sink": .text(sink.name),
        ]
        if let rate {
            settings["rate"] = .number(rate)
            settings["tick_ms"] = .number(tickMilliseconds)
        }
        if let scenario = sink.scenario { settings["scenario"] = .text(scenario) }
        return settings
    }
}
