internal import Executables

extension Command {
    static let chaos = Command(
        "chaos",
        "the whole service while everything around it fails: nothing lost, nothing stale",
        options: ChaosOptions.declared,
        details: """
            Starts several services, a PostgreSQL and the simulator, each in processes of its
            own. A feed posts events, in another order, twice and again; phones register,
            take new tokens, change their setting, are taken from APNs and come back.
            Meanwhile services are killed, stopped past their leases and drained; PostgreSQL
            is killed, restarted and frozen, its connections cut; APNs ends, resets and
            silences connections, says later, or answers slowly.

            When it is over everything must settle. Then every phone must show the last
            state that the API accepted, with its stamp; every alert must have come, or a
            newer one; what came twice must be explained by a fault that left it in doubt; and
            all sums must add up. If not, it says with which seed to run it again.

            The seed decides what goes wrong and when, what the feed posts and what phones
            do. --plan prints the first of these.
            """,
        example: "loadtest chaos --minutes 10 --seed 7",
        examples: [
            .init("a minute, and the figures for programs", "loadtest chaos --json -"),
            .init("what a seed will do", "loadtest chaos --minutes 10 --seed 7 --plan"),
            .init("APNs' faults alone, often", "loadtest chaos --faults apns --pace 500"),
            .init("nothing goes wrong: then nothing may come twice", "loadtest chaos --faults none"),
        ],
        run: { invocation throws(Failure) in try await runChaos(invocation) }
    )

    private static func runChaos(_ invocation: Invocation) async throws(Failure) {
        let options = try ChaosOptions(invocation)
        if options.showsPlan {
            for fault in options.plan.faults { Terminal.print(fault.line) }
            return
        }
        let report = try await Workplace.withInterrupts(
            in: invocation.environment["TMPDIR"],
            name: "touchline-chaos"
        ) { workplace throws(Failure) in
            try await ChaosRun.run(options, in: workplace)
        }
        try options.output.write(report)
    }
}
