internal import Executables

extension Command {
    static let path = Command(
        "path",
        "the whole service, from a feed's event to what phones show",
        options: PathOptions.declared,
        details: """
            Starts the service with a PostgreSQL of its own and the simulator, makes tenants,
            matches and phones through the API, posts events at their times, and waits until
            nothing is due any more. The last event of each match is key.

            Every phone must then show its match's last state. Latencies are the service's own:
            from an event's acceptance to the last push of the turn that brought it. CPU is that
            of the service's process, without PostgreSQL's.
            """,
        example: "loadtest path --report path.html",
        examples: [
            .init("one match, a million tokens, five goals", "loadtest path --scenario world-cup-final"),
            .init("the same in seconds", "loadtest path --scenario world-cup-final --tokens 20000"),
            .init("300 matches at once", "loadtest path --scenario saturday --json figures.json"),
        ],
        run: { invocation throws(Failure) in try await runPath(invocation) }
    )

    private static func runPath(_ invocation: Invocation) async throws(Failure) {
        let options = try PathOptions(invocation)
        try await options.output.write(of: invocation) { workplace throws(Failure) in
            try await PathRun.run(options, in: workplace)
        }
    }
}
