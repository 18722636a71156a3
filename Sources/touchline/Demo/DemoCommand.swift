internal import EventLoop
internal import Glibc

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
        let signals: AsyncStream<Int32>
        do throws(EventLoopError) {
            signals = try SignalWatcher.start([SIGINT, SIGTERM, SIGHUP], on: EventLoop(name: "signals"))
        } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
        let temporary = invocation.environment["TMPDIR"] ?? ""
        let services = try DemoServices(in: temporary.isEmpty ? "/tmp" : temporary)
        // An interrupt ends the processes and then this one, whatever `show` is waiting for.
        let interrupts = Task {
            for await signal in signals {
                Terminal.endProgress()
                Terminal.complain("stopping")
                await services.stop()
                exit(128 + signal)
            }
        }
        defer { interrupts.cancel() }
        do throws(Failure) {
            try await show(Demo(services: services, phoneCount: phones, pace: pace), isOnce: isOnce)
            await services.stop()
        } catch {
            // What fails because everything is being stopped is no failure: the interrupt ends the process.
            if services.isStopping { await interrupts.value }
            await services.stop()
            throw error
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
