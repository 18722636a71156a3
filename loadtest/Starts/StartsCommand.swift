internal import Executables

extension Command {
    static let starts = Command(
        "starts",
        "a match's starts by push while the process that sends them is killed",
        options: StartsOptions.declared,
        details: """
            Starts services, a PostgreSQL and the simulator, each in processes of its own, and
            registers devices, of which most follow one of two teams and some both. Then the
            match is started on all of them, and in the middle of it the services are killed by
            kill -9, as often as --kills says, and started again.

            Every device that follows must have one start in the simulator's records, none two,
            and the others none. A start is never sent twice on purpose: what a service had
            handed to a connection when it was killed, and has no answer to, counts as
            unknown. Of those the table says how many did arrive; the others are missing.
            """,
        example: "loadtest starts --rounds 10",
        examples: [
            .init("a far APNs", "loadtest starts --rtt 60 --kills 4"),
            .init("stopped past its claim, and alive", "loadtest starts --stop --services 2"),
            .init("no kills", "loadtest starts --kills 0"),
        ],
        run: { invocation throws(Failure) in
            let options = try StartsOptions(invocation)
            try await options.output.write(of: invocation) { workplace throws(Failure) in
                try await StartsRun.run(options, in: workplace)
            }
        }
    )
}
