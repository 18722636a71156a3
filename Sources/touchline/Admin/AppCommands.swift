internal import Core
internal import Executables

extension Command {
    static let apps: [Command] = [
        AdminCommand.one(
            "app set",
            "make an app in one environment, or change its settings",
            arguments: place,
            options: credential + settings,
            details: """
                With --team-id, --key-id and --p8 the app is made, or gets that key and those settings, others as they are by \
                default. Without the three, only the settings that are named change, with the next push.
                """,
            example:
                "touchline app set com.acme.scores sandbox --team-id ABCDE12345 --key-id FGHIJ67890 --p8 AuthKey.p8"
        ) { invocation throws(Failure) in
            let path = AdminCommand.path("apps", invocation.words[0], invocation.words[1])
            guard ["--team-id", "--key-id", "--p8"].contains(where: { invocation.value($0) != nil }) else {
                return .init(method: "PATCH", path: path, body: .members(try members(invocation)))
            }
            let p8 = String(decoding: try File.read(try invocation.required("--p8")), as: UTF8.self)
            return .init(
                method: "PUT",
                path: path,
                body: .members(
                    [
                        ("team_id", .string(try invocation.required("--team-id"))),
                        ("key_id", .string(try invocation.required("--key-id"))),
                        ("p8", .string(p8)),
                    ] + (try members(invocation))
                )
            )
        },
        AdminCommand.list(
            "app list",
            "the tenant's apps",
            columns: [
                .init("BUNDLE", "bundle", isID: true), .init("ENVIRONMENT", "environment"),
                .init("CHANNELS", "channels"),
                .init("PAUSED", "paused"), .init("TOKENS STOPPED", "stopped.tokens"),
                .init("CHANNELS STOPPED", "stopped.channels"),
            ],
            example: "touchline app list"
        ) { _ in "/v1/apps" },
        AdminCommand.one(
            "app show",
            "one app's settings, and why its work stopped",
            arguments: place,
            example: "touchline app show com.acme.scores production"
        ) { invocation in
            .init(method: "GET", path: AdminCommand.path("apps", invocation.words[0], invocation.words[1]))
        },
        AdminCommand.one(
            "app change",
            "change an app's settings, pause it, or let stopped work go on",
            arguments: place,
            options: settings + [
                Option("--paused", "YES|NO", "whether its pushes wait; ends still go out"),
                Option("--go-on", "what stopped is to be tried again"),
            ],
            example: "touchline app change com.acme.scores production --go-on"
        ) { invocation throws(Failure) in
            .init(
                method: "PATCH",
                path: AdminCommand.path("apps", invocation.words[0], invocation.words[1]),
                body: .members(
                    (try members(invocation)) + [
                        ("paused", try AdminCommand.yesOrNo("--paused", invocation)),
                        ("stopped", invocation.isOn("--go-on") ? .null : nil),
                    ]
                )
            )
        },
    ]

    private static let place = [
        Argument("BUNDLE", "its bundle id"), Argument("ENVIRONMENT", "sandbox or production"),
    ]

    private static let credential = [
        Option("--team-id", "TEAM", "Apple's team id, 10 characters"),
        Option("--key-id", "KEY", "the APNs key's id, 10 characters"),
        Option("--p8", "FILE", "the APNs key itself, AuthKey_….p8"),
    ]

    private static let settings = [
        Option("--frequent-updates", "YES|NO", "NSSupportsLiveActivitiesFrequentUpdates is declared"),
        Option("--channels", "HOW", "single, by_cadence or none"),
        Option("--tokens", "YES|NO", "phones may register update tokens"),
        Option("--storage-policy", "0|1", "of its channels: 1 keeps the newest push"),
        Option("--stale-after", "SECONDS", "when a state without its own is stale"),
        Option("--channel-lead", "SECONDS", "how long before kick-off a channel is made"),
        Option("--channel-linger", "SECONDS", "how long after the end it is kept"),
        Option("--start-lead", "SECONDS", "how long before its kick-off a match is started"),
        Option("--ends-after-silence", "SECONDS", "without an event a match ends by itself, 36 hours unless set"),
        Option("--frequent-gap", "SECONDS", "between routine updates of phones that allow frequent ones"),
        Option("--frequent-urgent", "N", "priority-10 pushes an hour to each of them"),
        Option("--standard-gap", "SECONDS", "between routine updates of all others"),
        Option("--standard-urgent", "N", "priority-10 pushes an hour to each of those"),
        Option("--pacing", "JSON|@FILE", "the same four, as the API has them"),
    ]

    private static func pacing(_ invocation: Invocation) throws(Failure) -> JSONOutput? {
        func pace(_ cadence: String) throws(Failure) -> JSONOutput? {
            let gap = try AdminCommand.number("--\(cadence)-gap", invocation, in: 0...3_600)
            let urgent = try AdminCommand.number("--\(cadence)-urgent", invocation, in: 0...3_600)
            return gap == nil && urgent == nil ? nil : .members([("gap_seconds", gap), ("urgent_per_hour", urgent)])
        }
        let whole = try AdminCommand.json("--pacing", invocation)
        let (frequent, standard) = (try pace("frequent"), try pace("standard"))
        guard frequent != nil || standard != nil else { return whole }
        guard whole == nil else {
            throw Failure(.wrongUse, "--pacing and its single numbers exclude each other")
        }
        return .members([("frequent", frequent), ("standard", standard)])
    }

    /// What ``settings`` say, as members of a body.
    private static func members(
        _ invocation: Invocation
    ) throws(Failure) -> [(name: String, value: JSONOutput?)] {
        [
            ("frequent_updates_declared", try AdminCommand.yesOrNo("--frequent-updates", invocation)),
            ("channels", AdminCommand.text("--channels", invocation)),
            ("tokens", try AdminCommand.yesOrNo("--tokens", invocation)),
            ("storage_policy", try AdminCommand.number("--storage-policy", invocation, in: 0...1)),
            ("pacing", try pacing(invocation)),
            ("stale_after", try AdminCommand.number("--stale-after", invocation)),
            ("channel_lead", try AdminCommand.number("--channel-lead", invocation)),
            ("channel_linger", try AdminCommand.number("--channel-linger", invocation)),
            ("start_lead", try AdminCommand.number("--start-lead", invocation)),
            ("ends_after_silence", try AdminCommand.number("--ends-after-silence", invocation)),
        ]
    }
}
