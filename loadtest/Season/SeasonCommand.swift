internal import Executables

extension Command {
    static let season = Command(
        "season",
        "a season's channels while services are killed: never too many, none left",
        options: SeasonOptions.declared,
        details: """
            Starts services, a PostgreSQL and the simulator, each in processes of its own, and
            imports a season of fixtures by `touchline match import`, twice: the second time
            nothing may change, and no channel be there. Then the kick-offs are brought forward
            into the next minutes by a third import. Matches are played and ended, postponed
            and put on again, abandoned and deleted, while services are killed by kill -9 and
            APNs loses answers, to creations and deletions of channels too, after having done
            what was asked.

            Five times a second APNs' list is read: it may never have more channels than there
            are matches whose lead has begun and whose linger is not over, none before its
            match's lead, and never two of one match. When the last linger is over the list
            and the ledger must both be empty, and `touchline channel audit` must say so.

            A day's lead and four hours' linger are seconds here, by the app's own settings.
            --skip sets PostgreSQL's rows on by so much instead, while no service runs.
            """,
        example: "loadtest season --seed 7",
        examples: [
            .init("a short one", "loadtest season --matches 60 --seconds 30 --lead 15 --linger 5"),
            .init("no kills, no lost answers", "loadtest season --pace 0 --lost 0"),
        ],
        run: { invocation throws(Failure) in
            let options = try SeasonOptions(invocation)
            try await options.output.write(of: invocation) { workplace throws(Failure) in
                try await SeasonRun.run(options, in: workplace)
            }
        }
    )
}
