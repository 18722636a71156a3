internal import Executables

extension Command {
    static let pool = Command(
        "pool",
        "the sender pool: throughput, latencies, CPU a push, outcomes",
        options: PoolOptions.declared,
        details: """
            Sends pushes through Touchline's sender pool to a simulator in a process of its own:
            as many as the streams hold and the next when one has ended, or so many a second
            with --rate, where latencies count from the moment at which a push was due.

            Every push ends in exactly one outcome, and each outcome's count is compared with
            what the simulator answered. A figure is marked where the simulator was the busier.
            With --baseline h2load, h2load sends the same to the same listener in turn, and the
            ratios are ours divided by h2load's.
            """,
        example: "loadtest pool --report pool.html",
        examples: [
            .init("beside h2load, five rounds in turn", "loadtest pool --baseline h2load --connections 1"),
            .init("10,000 a second, whatever becomes of them", "loadtest pool --rate 10000 --seconds 10"),
            .init(
                "an APNs that does everything wrong at times",
                "loadtest pool --scenario mixed-faults --pushes 200000"
            ),
            .init("as far away as Apple", "loadtest pool --rtt 50 --connections 16 --json figures.json"),
        ],
        run: { invocation throws(Failure) in try await runPool(invocation) }
    )

    private static func runPool(_ invocation: Invocation) async throws(Failure) {
        let options = try PoolOptions(invocation)
        try await options.output.write(of: invocation) { workplace throws(Failure) in
            try await PoolRun.run(options, in: workplace)
        }
    }
}
