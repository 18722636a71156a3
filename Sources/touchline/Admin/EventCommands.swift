internal import Core
internal import Executables

extension Command {
    static let events: [Command] = [
        AdminCommand.one(
            "event send",
            "post an event of a match, as a feed does",
            arguments: [Argument("MATCH", "its id")],
            options: EventOptions.all,
            details: """
                The event is made of the options, or stands in a file as the API takes it; options replace what the file \
                says. It is sent again as it is, without harm, when the answer was lost. The exit code is 1 where nothing is sent for \
                it: it happened before the newest event, or the match has ended.
                """,
            example: #"touchline event send final --id 21 --importance key --content-state '{"home":1,"away":0}'"#,
            examples: [.init("The whole event from a file", "touchline event send final --file goal.json --id 22")],
            remark: EventRemark.text
        ) { invocation throws(Failure) in
            .init(
                method: "POST",
                path: AdminCommand.path("matches", invocation.words[0], "events"),
                body: try EventOptions.body(invocation)
            )
        },
        Command(
            "event preview",
            "show what an event would send, byte for byte; nothing is sent",
            arguments: [Argument("MATCH", "its id")],
            options: EventOptions.all + [APIOptions.json] + APIOptions.all,
            details: """
                Takes what `event send` takes, checks it in the same way, and shows each push: to whom, when by the pacing of \
                this moment, with which headers and payload, and its size beside APNs' limit. Stamps are those of now.
                """,
            example: #"touchline event preview final --importance key --content-state '{"home":2,"away":0}'"#
        ) { invocation throws(Failure) in
            let path = AdminCommand.path("matches", invocation.words[0], "preview")
            let body = try EventOptions.body(invocation, defaultID: "preview")
            let answer = try await APIOptions.client(invocation).send("POST", path, body)
            if invocation.isOn("--json") { return Terminal.print(answer.text) }
            Terminal.print(try answer.decode(PreviewView.self).text)
        },
        .eventImport,
        AdminCommand.list(
            "event list",
            "a match's events, as they came in",
            arguments: [Argument("MATCH", "its id")],
            columns: [
                .init("EVENT", "event", isID: true), .init("KIND", "kind"), .init("IMPORTANCE", "importance"),
                .init("STATUS", "status"), .init("VERSION", "version"), .init("RECEIVED", "received_at"),
            ],
            example: "touchline event list final"
        ) { invocation in AdminCommand.path("matches", invocation.words[0], "events") },
    ]

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
            example: "touchline activity set final a1 --token 0a1b2c3d4e5f"
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
            example: "touchline activity delete final a1"
        ) { invocation in
            .init(
                method: "DELETE",
                path: AdminCommand.path("matches", invocation.words[0], "activities", invocation.words[1])
            )
        },
    ]
}
