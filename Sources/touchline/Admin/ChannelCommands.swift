internal import Core
internal import Executables

extension Command {
    static let channels: [Command] = [
        AdminCommand.one(
            "channel show",
            "the channel that an app passes to its Live Activity",
            arguments: [Argument("MATCH", "its id")],
            options: [
                Option("--environment", "ENV", default: "production", "sandbox or production"),
                Option("--frequent-updates", "YES|NO", default: "yes", "what the phone's user allows"),
            ],
            example: "touchline channel show worldcup-2022/64 --environment sandbox"
        ) { invocation throws(Failure) in
            let environment = ServiceURL.segment(try invocation.required("--environment"))
            let isFrequent = try AdminCommand.yesOrNo("--frequent-updates", invocation)?.text ?? "true"
            return .init(
                method: "GET",
                path: AdminCommand.path("matches", invocation.words[0], "channel")
                    + "?environment=\(environment)&frequent_pushes_enabled=\(isFrequent)"
            )
        },
        AdminCommand.list(
            "channel list",
            "the tenant's channels, of all its matches",
            columns: [
                .init("CHANNEL", "channel_id"), .init("MATCH", "match"), .init("ENVIRONMENT", "environment"),
                .init("CADENCE", "cadence"), .init("STATE", "state"), .init("LAST ERROR", "last_error"),
            ],
            example: "touchline channel list"
        ) { _ in "/v1/channels" },
    ]
}
