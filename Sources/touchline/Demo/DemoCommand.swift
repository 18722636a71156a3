internal import Executables

extension Command {
    static let demo = Command(
        "demo",
        "show a match on 2,000 phones, on this machine and nowhere else",
        options: [
            Option("--once", "stop after the match; exit 0 only if every phone is right"),
            Option("--phones", "N", default: "2000", "how many phones follow the match"),
            Option("--speed", "X", default: "300", "so many times as fast as it was, or “max”"),
        ],
        details: """
            Starts the simulator of Apple's push service, and the service with a PostgreSQL of
            its own, replays the final of 2022, and shows where each goal lands. Without --once
            it goes on serving until it is interrupted. Nothing is left behind.

            Phones go by stamps of whole seconds, one a version: where the match runs faster
            than that, as the shoot-out does, a goal takes up to a second.
            """,
        example: "touchline demo --once --speed max",
        run: { invocation throws(Failure) in try await demo(invocation) }
    )

    private static func demo(_ invocation: Invocation) async throws(Failure) {
        let phones = try invocation.integer("--phones", in: 2...1_000_000) ?? 2_000
        let pace = try Pace(invocation.required("--speed"))
        let isOnce = invocation.isOn("--once")
        let temporary = invocation.environment["TMPDIR"]
        try await Workplace.withInterrupts(in: temporary, name: "touchline-demo") { services throws(Failure) in
            try await show(Demo(services: services, phoneCount: phones, pace: pace), isOnce: isOnce)
        }
    }

    private static func show(_ demo: Demo, isOnce: Bool) async throws(Failure) {
        let result = try await demo.run()
        let summary = "final state on \(result.right) of \(result.phones) phones"
        if !isOnce {
            Terminal.print(
                """
                The service goes on at \(result.url) until you press Ctrl-C.
                An admin's key of the demo's tenant:

                    export TOUCHLINE_URL=\(result.url)
                    export TOUCHLINE_KEY=\(result.key)
                    curl -H "Authorization: Bearer $TOUCHLINE_KEY" $TOUCHLINE_URL/v1/matches/worldcup-2022%2Ffinal

                What the phones show: \(result.control)/_sim/summary

                """
            )
        }
        Terminal.print(summary)
        guard result.right == result.phones else {
            throw Failure(.failed, "\(result.phones - result.right) phones do not show the result")
        }
        while !isOnce { try? await Task.sleep(for: .seconds(3_600)) }
    }
}
