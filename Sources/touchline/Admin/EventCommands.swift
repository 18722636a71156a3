internal import Core
internal import Executables

extension Command {
    static let events: [Command] = [
        AdminCommand.one(
            "event send",
            "post an event of a match, as a feed does",
            arguments: [Argument("MATCH", "its id")],
            options: [
                Option("--id", "ID", isRequired: true, "the feed's own; the same id again changes nothing"),
                Option("--kind", "KIND", default: "update", "update, correction, heartbeat or end"),
                Option("--importance", "HOW", "routine or key"),
                Option("--content-state", "JSON|@FILE", "the match's new state"),
                Option("--sequence", "N", "the feed's own order"),
                Option("--occurred-at", "TIME", "RFC 3339, when it happened"),
                Option("--alert-title", "TEXT", "with --alert-body: shown as a notification"),
                Option("--alert-body", "TEXT", "with --alert-title"),
                Option("--stale-after", "SECONDS", "when this state is stale"),
                Option("--dismiss-after", "SECONDS", "with --kind end: when the card goes"),
            ],
            example: #"touchline event send final --id 21 --importance key --content-state '{"home":1,"away":0}'"#
        ) { invocation throws(Failure) in
            .init(
                method: "POST",
                path: AdminCommand.path("matches", invocation.words[0], "events"),
                body: .members([
                    ("id", .string(try invocation.required("--id"))),
                    ("kind", AdminCommand.text("--kind", invocation)),
                    ("sequence", try AdminCommand.number("--sequence", invocation)),
                    ("occurred_at", AdminCommand.text("--occurred-at", invocation)),
                    ("importance", AdminCommand.text("--importance", invocation)),
                    ("content_state", try AdminCommand.json("--content-state", invocation)),
                    ("alert", try alert(invocation)),
                    ("stale_after", try AdminCommand.number("--stale-after", invocation)),
                    ("dismiss_after", try AdminCommand.number("--dismiss-after", invocation)),
                ])
            )
        },
        AdminCommand.list(
            "event list",
            "a match's events, as they came in",
            arguments: [Argument("MATCH", "its id")],
            columns: [
                .init("EVENT", "event"), .init("KIND", "kind"), .init("IMPORTANCE", "importance"),
                .init("STATUS", "status"), .init("VERSION", "version"), .init("RECEIVED", "received_at"),
            ],
            example: "touchline event list worldcup-2022/64"
        ) { invocation in AdminCommand.path("matches", invocation.words[0], "events") },
    ]

    private static func alert(_ invocation: Invocation) throws(Failure) -> JSONOutput? {
        switch (invocation.value("--alert-title"), invocation.value("--alert-body")) {
        case (nil, nil): return nil
        case (let title?, let body?): return ["title": .string(title), "body": .string(body), "sound": "default"]
        default: throw Failure(.wrongUse, "--alert-title and --alert-body go together")
        }
    }

    static let activities: [Command] = [
        AdminCommand.one(
            "activity set",
            "register the update token of one Live Activity",
            arguments: [Argument("MATCH", "its id"), Argument("ACTIVITY", "the activity's own id")],
            options: [
                Option("--token", "HEX", isRequired: true, "the update token"),
                Option("--environment", "ENV", default: "production", "sandbox or production"),
                Option("--frequent-updates", "YES|NO", default: "yes", "what the phone's user allows"),
                Option("--device", "DEVICE", "the phone's own id"),
                Option("--version", "N", "the match's version that the phone shows"),
            ],
            example: "touchline activity set worldcup-2022/64 a1 --token 0a1b2c… --environment sandbox"
        ) { invocation throws(Failure) in
            .init(
                method: "PUT",
                path: AdminCommand.path("matches", invocation.words[0], "activities", invocation.words[1]),
                body: .members([
                    ("token", .string(try invocation.required("--token"))),
                    ("environment", AdminCommand.text("--environment", invocation)),
                    ("frequent_pushes_enabled", try AdminCommand.yesOrNo("--frequent-updates", invocation)),
                    ("device", AdminCommand.text("--device", invocation)),
                    ("version", try AdminCommand.number("--version", invocation)),
                ])
            )
        },
        AdminCommand.one(
            "activity delete",
            "forget the update token of one Live Activity",
            arguments: [Argument("MATCH", "its id"), Argument("ACTIVITY", "the activity's own id")],
            example: "touchline activity delete worldcup-2022/64 a1"
        ) { invocation in
            .init(
                method: "DELETE",
                path: AdminCommand.path("matches", invocation.words[0], "activities", invocation.words[1])
            )
        },
    ]
}
