internal import Core
internal import Executables

extension Command {
    static let channels: [Command] = [
        Command(
            "channel show",
            "the channel that an app passes to its Live Activity",
            arguments: [Argument("MATCH", "its id")],
            options: [
                Option("--environment", "ENV", default: "production", "sandbox or production"),
                Option("--frequent-updates", "YES|NO", default: "yes", "what the phone's user allows"),
                Option("--wait", "SECONDS", "how long to wait until it is open"),
                APIOptions.json,
            ] + APIOptions.all,
            example: "touchline channel show final --wait 60"
        ) { invocation throws(Failure) in
            let environment = ServiceURL.segment(try invocation.required("--environment"))
            let isFrequent = try AdminCommand.yesOrNo("--frequent-updates", invocation)?.text ?? "true"
            let path =
                AdminCommand.path("matches", invocation.words[0], "channel")
                + "?environment=\(environment)&frequent_pushes_enabled=\(isFrequent)"
            let end = ContinuousClock.now + .seconds(try invocation.integer("--wait", in: 0...86_400) ?? 0)
            let client = try APIOptions.client(invocation)
            while true {
                do throws(Failure) {
                    return try AnswerView(invocation).object(try await client.send("GET", path))
                } catch {
                    guard error.code == "channel_pending", .now < end else { throw error }
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        },
        AdminCommand.list(
            "channel list",
            "the tenant's channels, of all its matches",
            columns: channelColumns,
            example: "touchline channel list"
        ) { _ in "/v1/channels" },
        Command(
            "channel create",
            "make a match's channels now, whatever the app's lead",
            arguments: [Argument("MATCH", "its id")],
            options: [Option("--environment", "ENV", "sandbox or production; else both"), APIOptions.json]
                + APIOptions.all,
            details: "They are asked for at once; `channel show MATCH --wait 60` returns when one is there.",
            example: "touchline channel create final --environment production"
        ) { invocation throws(Failure) in
            let answer = try await APIOptions.client(invocation).send(
                "POST",
                "/v1/channels",
                .members([
                    ("match", .string(invocation.words[0])),
                    ("environment", AdminCommand.text("--environment", invocation)),
                ])
            )
            try AnswerView(invocation).list(answer, channelColumns)
        },
        AdminCommand.one(
            "channel delete",
            "delete a channel that no live match needs",
            arguments: [Argument("CHANNEL", "its id, as the list shows it")],
            example: "touchline channel delete 8KqTm2vBEe+AQAAAAAAAAA=="
        ) { invocation in .init(method: "DELETE", path: AdminCommand.path("channels", invocation.words[0])) },
        Command(
            "channel audit",
            "compare the channels that were made with those that APNs lists",
            options: [
                Option("--bundle", "BUNDLE", "only of this app"),
                Option("--environment", "ENV", "only in sandbox, or production"),
                Option("--delete", "LIST", "delete these orphaned ones, split by commas"),
                APIOptions.json,
            ] + APIOptions.all,
            details: """
                Orphaned: made here, still at APNs, and no match's any more. Lost: a match's channel that APNs does not have; a \
                live match gets another. Foreign: not made here, and never touched.

                Nothing is deleted but what --delete names.
                """,
            example: "touchline channel audit --bundle com.acme.scores --environment production"
        ) { invocation throws(Failure) in
            let doomed = invocation.value("--delete")?.split(separator: ",").map { JSONOutput.string(String($0)) }
            let answer = try await APIOptions.client(invocation).send(
                "POST",
                "/v1/channels/audit",
                .members([
                    ("bundle", AdminCommand.text("--bundle", invocation)),
                    ("environment", AdminCommand.text("--environment", invocation)),
                    ("delete", doomed.map { .array($0) }),
                ])
            )
            try ChannelAuditView(invocation).show(answer)
        },
    ]

    private static let channelColumns: [AnswerView.Column] = [
        .init("CHANNEL", "channel_id", isID: true), .init("MATCH", "match", isID: true),
        .init("ENVIRONMENT", "environment"),
        .init("CADENCE", "cadence"), .init("STATE", "state"), .init("REPLACED", "replaced_at"),
        .init("LAST ERROR", "last_error"),
    ]
}
