internal import Core
internal import Executables

extension Command {
    private static let match = Argument("MATCH", "its id")

    static let matches: [Command] = [
        AdminCommand.one(
            "match create",
            "make or change a match",
            arguments: [match],
            options: [
                Option("--bundle", "BUNDLE", isRequired: true, "the app's bundle id"),
                Option("--type", "TYPE", isRequired: true, "its activity type"),
                Option("--kickoff-at", "TIME", isRequired: true, "RFC 3339: 2026-07-19T19:00:00Z"),
                Option("--content-state", "JSON|@FILE", "the first one"),
                Option("--topics", "LIST", "split by commas: team:arg,competition:wc-2026"),
                Option("--status", "STATUS", "scheduled, postponed or abandoned"),
            ],
            example: "touchline match create final --bundle com.acme.scores --type ScoreAttributes "
                + #"--kickoff-at 2026-07-19T19:00:00Z --content-state '{"home":0,"away":0}'"#
        ) { invocation throws(Failure) in
            let topics = invocation.value("--topics")?.split(separator: ",").map { JSONOutput.string(String($0)) }
            return .init(
                method: "PUT",
                path: AdminCommand.path("matches", invocation.words[0]),
                body: .members([
                    ("bundle", .string(try invocation.required("--bundle"))),
                    ("type", .string(try invocation.required("--type"))),
                    ("kickoff_at", .string(try invocation.required("--kickoff-at"))),
                    ("topics", topics.map { .array($0) }),
                    ("content_state", try AdminCommand.json("--content-state", invocation)),
                    ("status", AdminCommand.text("--status", invocation)),
                ])
            )
        },
        AdminCommand.list(
            "match list",
            "the tenant's matches",
            columns: [
                .init("MATCH", "match"), .init("STATUS", "status"), .init("VERSION", "version"),
                .init("KICK-OFF", "kickoff_at"), .init("BUNDLE", "bundle"),
            ],
            example: "touchline match list"
        ) { _ in "/v1/matches" },
        AdminCommand.one(
            "match show",
            "one match: its state, version and channels",
            arguments: [match],
            example: "touchline match show worldcup-2022/64"
        ) { invocation in .init(method: "GET", path: AdminCommand.path("matches", invocation.words[0])) },
        AdminCommand.list(
            "match deliveries",
            "what became of a match's pushes",
            arguments: [match],
            columns: [
                .init("TARGET", "target"), .init("ENV", "environment"), .init("CADENCE", "cadence"),
                .init("VERSIONS", "versions", isRange: true), .init("STATE", "state"), .init("TAKEN", "accepted"),
                .init("REMOVED", "removed"), .init("REFUSED", "refused"), .init("WAIT", "waiting"),
            ],
            items: "turns",
            whenEmpty: "nothing was sent yet",
            isPaged: false,
            example: "touchline match deliveries worldcup-2022/64"
        ) { invocation in AdminCommand.path("matches", invocation.words[0], "deliveries") },
        AdminCommand.one(
            "match change",
            "pause or resume a match",
            arguments: [match],
            options: [Option("--paused", "YES|NO", "whether its pushes wait; its end still goes out")],
            example: "touchline match change worldcup-2022/64 --paused yes"
        ) { invocation throws(Failure) in
            .init(
                method: "PATCH",
                path: AdminCommand.path("matches", invocation.words[0]),
                body: .members([("paused", try AdminCommand.yesOrNo("--paused", invocation))])
            )
        },
        AdminCommand.one(
            "match delete",
            "delete a match, and its channels",
            arguments: [match],
            example: "touchline match delete worldcup-2022/64"
        ) { invocation in .init(method: "DELETE", path: AdminCommand.path("matches", invocation.words[0])) },
    ]
}
