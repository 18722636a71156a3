internal import Core
internal import Executables

extension Command {
    private static let device = Argument("DEVICE", "the phone's own id, as your server knows it")
    private static let match = Argument("MATCH", "its id")

    static let devices: [Command] = [
        AdminCommand.one(
            "device set",
            "store a phone that follows topics, or change what is named of it",
            arguments: [device],
            options: [
                Option("--push-to-start-token", "HEX", "what its matches are started by"),
                Option("--environment", "ENV", "sandbox or production; a new one needs it"),
                Option("--bundle", "BUNDLE", "needed where the tenant has several apps"),
                Option("--supports-channels", "YES|NO", "whether it has iOS 18"),
                Option("--frequent-updates", "YES|NO", "what the phone's user allows"),
                Option("--topics", "LIST", "split by commas: team:arg,match:final"),
                Option("--showing", "LIST", "matches that it has a card of, split by commas"),
            ],
            example: "touchline device set phone-7 --environment production "
                + "--push-to-start-token 80ab80ab80ab80ab --topics team:arg,competition:wc-2026"
        ) { invocation throws(Failure) in
            .init(
                method: "PUT",
                path: AdminCommand.path("devices", invocation.words[0]),
                body: .members([
                    ("push_to_start_token", AdminCommand.text("--push-to-start-token", invocation)),
                    ("environment", AdminCommand.text("--environment", invocation)),
                    ("bundle", AdminCommand.text("--bundle", invocation)),
                    ("supports_channels", try AdminCommand.yesOrNo("--supports-channels", invocation)),
                    ("frequent_pushes_enabled", try AdminCommand.yesOrNo("--frequent-updates", invocation)),
                    ("topics", list("--topics", invocation)), ("showing", list("--showing", invocation)),
                ])
            )
        },
        AdminCommand.list(
            "device list",
            "the phones that follow topics; REFUSED says why APNs refused one's token",
            columns: [
                .init("DEVICE", "device", isID: true), .init("BUNDLE", "bundle", isID: true),
                .init("ENVIRONMENT", "environment"),
                .init("TOKEN", "has_token"), .init("CHANNELS", "supports_channels"), .init("REFUSED", "refused"),
            ],
            example: "touchline device list"
        ) { _ in "/v1/devices" },
        AdminCommand.one(
            "device delete",
            "forget a phone: nothing is started on it any more",
            arguments: [device],
            example: "touchline device delete phone-7"
        ) { invocation in .init(method: "DELETE", path: AdminCommand.path("devices", invocation.words[0])) },
    ]

    static let starts: [Command] = [
        Command(
            "match start",
            "start a match on its followers' phones now, before the app's start_lead",
            arguments: [match],
            options: [
                Option("--title", "TEXT", "with --body: what the phones say; else what the match has"),
                Option("--body", "TEXT", "with --title"), APIOptions.json,
            ] + APIOptions.all,
            details: """
                Its channel is made first, if it has none yet: phones that can listen on it are started with it. `match starts` \
                says what became of them.
                """,
            example: "touchline match start final --title 'Spain – Argentina' --body 'Kick-off'"
        ) { invocation throws(Failure) in
            let alert = try alert(invocation, title: "--title", body: "--body")
            let answer = try await APIOptions.client(invocation).send(
                "POST",
                AdminCommand.path("matches", invocation.words[0], "starts"),
                alert.map { ["alert": $0] }
            )
            try AnswerView(invocation).list(answer, startColumns, list: "starts")
        },
        AdminCommand.list(
            "match starts",
            "what became of a match's starts; UNKNOWN ones are in doubt and never sent again",
            arguments: [match],
            columns: startColumns,
            items: "starts",
            whenEmpty: "it starts nobody: it has no start.alert, or its kick-off went by",
            isPaged: false,
            example: "touchline match starts final"
        ) { invocation in AdminCommand.path("matches", invocation.words[0], "starts") },
    ]

    private static let startColumns: [AnswerView.Column] = [
        .init("ENVIRONMENT", "environment"), .init("STATE", "state"), .init("WAIT", "waiting"),
        .init("SENDING", "sending"), .init("TAKEN", "accepted"), .init("UNKNOWN", "unknown"),
        .init("REFUSED", "refused"), .init("GIVEN UP", "given_up"), .init("JOINED", "joined"),
    ]

    /// An alert of two options that go together; nil: neither is there.
    static func alert(
        _ invocation: Invocation,
        title: String,
        body: String
    ) throws(Failure) -> JSONOutput? {
        switch (invocation.value(title), invocation.value(body)) {
        case (nil, nil): return nil
        case (let title?, let body?): return ["title": .string(title), "body": .string(body), "sound": "default"]
        default: throw Failure(.wrongUse, "\(title) and \(body) go together")
        }
    }

    private static func list(_ option: String, _ invocation: Invocation) -> JSONOutput? {
        invocation.value(option).map { .array($0.split(separator: ",").map { .string(String($0)) }) }
    }
}
