internal import Executables

extension Command {
    static let ingest = Command(
        "ingest",
        "the API: registrations in bulk and one by one, while events come",
        options: IngestOptions.declared,
        details: """
            Starts the service with a PostgreSQL of its own and a light sink, and registers
            phones: in bulk while its matches get events, then one a call over many connections.
            In the end each match gets one more key event, whose sweep must reach every phone
            that was told to be stored.

            Latencies are those of calls; `parts` has each kind of call by itself.
            """,
        example: "loadtest ingest --report ingest.html",
        examples: [
            .init(
                "kick-off: 20,000 a second",
                "loadtest ingest --registrations 600000 --rate 20000 --json figures.json"
            )
        ],
        run: { invocation throws(Failure) in try await runIngest(invocation) }
    )

    private static func runIngest(_ invocation: Invocation) async throws(Failure) {
        let options = try IngestOptions(invocation)
        try await options.output.write(of: invocation) { workplace throws(Failure) in
            try await IngestRun.run(options, in: workplace)
        }
    }
}
