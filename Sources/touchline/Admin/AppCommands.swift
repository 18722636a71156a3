internal import Core

extension Command {
    static let apps: [Command] = [
        AdminCommand.one(
            "app set",
            "make or change an app in one environment",
            arguments: [Argument("BUNDLE", "its bundle id"), Argument("ENVIRONMENT", "sandbox or production")],
            options: [
                Option("--team-id", "TEAM", "Apple's team id, 10 characters"),
                Option("--key-id", "KEY", "the APNs key's id, 10 characters"),
                Option("--p8", "FILE", "the APNs key itself, AuthKey_….p8"),
                Option("--frequent-updates", "YES|NO", "NSSupportsLiveActivitiesFrequentUpdates is declared"),
                Option("--channels", "HOW", "single, by_cadence or none"),
                Option("--tokens", "YES|NO", "phones may register update tokens"),
                Option("--storage-policy", "0|1", "of its channels: 1 keeps the newest push"),
                Option("--stale-after", "SECONDS", "when a state without its own is stale"),
                Option("--channel-lead", "SECONDS", "how long before kick-off a channel is made"),
                Option("--channel-linger", "SECONDS", "how long after the end it is kept"),
                Option("--pacing", "JSON|@FILE", "gaps and priority-10 pushes an hour"),
            ],
            example:
                "touchline app set com.acme.scores sandbox --team-id ABCDE12345 --key-id FGHIJ67890 --p8 AuthKey.p8"
        ) { invocation throws(Failure) in
            let p8 = String(decoding: try File.read(try invocation.required("--p8")), as: UTF8.self)
            return .init(
                method: "PUT",
                path: AdminCommand.path("apps", invocation.words[0], invocation.words[1]),
                body: .members([
                    ("team_id", .string(try invocation.required("--team-id"))),
                    ("key_id", .string(try invocation.required("--key-id"))),
                    ("p8", .string(p8)),
                    ("frequent_updates_declared", try AdminCommand.yesOrNo("--frequent-updates", invocation)),
                    ("channels", AdminCommand.text("--channels", invocation)),
                    ("tokens", try AdminCommand.yesOrNo("--tokens", invocation)),
                    ("storage_policy", try AdminCommand.number("--storage-policy", invocation, in: 0...1)),
                    ("pacing", try AdminCommand.json("--pacing", invocation)),
                    ("stale_after", try AdminCommand.number("--stale-after", invocation)),
                    ("channel_lead", try AdminCommand.number("--channel-lead", invocation)),
                    ("channel_linger", try AdminCommand.number("--channel-linger", invocation)),
                ])
            )
        },
        AdminCommand.list(
            "app list",
            "the tenant's apps",
            columns: [
                .init("BUNDLE", "bundle"), .init("ENVIRONMENT", "environment"), .init("CHANNELS", "channels"),
                .init("TOKENS STOPPED", "stopped.tokens"), .init("CHANNELS STOPPED", "stopped.channels"),
            ],
            example: "touchline app list"
        ) { _ in "/v1/apps" },
    ]

    static let types: [Command] = [
        AdminCommand.one(
            "type set",
            "declare an activity type and what its content state holds",
            arguments: [Argument("BUNDLE", "the app's"), Argument("TYPE", "the ActivityAttributes type")],
            options: [
                Option("--content-state", "JSON|@FILE", "its contract: names and types"),
                Option("--attributes", "JSON|@FILE", "the contract of its attributes"),
            ],
            example:
                #"touchline type set com.acme.scores ScoreAttributes --content-state '{"home":"int","away":"int"}'"#
        ) { invocation throws(Failure) in
            _ = try invocation.required("--content-state")
            return .init(
                method: "PUT",
                path: AdminCommand.path("apps", invocation.words[0], "types", invocation.words[1]),
                body: .members([
                    ("content_state", try AdminCommand.json("--content-state", invocation)),
                    ("attributes", try AdminCommand.json("--attributes", invocation)),
                ])
            )
        }
    ]
}
