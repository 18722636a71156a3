internal import Core
internal import Executables

extension Command {
    /// `pause` and `resume` of tenants, apps and matches.
    static let pauses: [Command] =
        pair(
            "tenant",
            "all of a tenant's matches (operator)",
            [Argument("TENANT", "t_…")],
            example: "$TOUCHLINE_TENANT"
        ) {
            AdminCommand.path("tenants", $0.words[0])
        }
        + pair(
            "app",
            "an app in one environment",
            [Argument("BUNDLE", "its bundle id"), Argument("ENVIRONMENT", "sandbox or production")],
            example: "com.acme.scores production"
        ) { AdminCommand.path("apps", $0.words[0], $0.words[1]) }
        + pair("match", "a match", [Argument("MATCH", "its id")], example: "final") {
            AdminCommand.path("matches", $0.words[0])
        }

    /// `pause` and `resume` of a noun whose `PATCH` takes `paused`.
    ///
    /// - Parameters:
    ///   - noun: `match`.
    ///   - who: Behind “pause”: `a match`.
    ///   - arguments: What names one.
    ///   - example: The words of those arguments.
    ///   - path: Of the thing.
    /// - Returns: The two commands.
    private static func pair(
        _ noun: String,
        _ who: String,
        _ arguments: [Argument],
        example: String,
        path: @escaping @Sendable (Invocation) -> String
    ) -> [Command] {
        [
            AdminCommand.one(
                "\(noun) pause",
                "hold back the pushes of \(who); its ends still go out",
                arguments: arguments,
                details: """
                    Events are accepted as ever, and answered with a warning. The pushes that are under way still arrive; \
                    after them nothing but ends goes out until `touchline \(noun) resume`.
                    """,
                example: "touchline \(noun) pause \(example)"
            ) { .init(method: "PATCH", path: path($0), body: ["paused": true]) },
            AdminCommand.one(
                "\(noun) resume",
                "let the pushes of \(who) go on",
                arguments: arguments,
                details: "Each phone that is behind gets the newest state, and only that.",
                example: "touchline \(noun) resume \(example)"
            ) { .init(method: "PATCH", path: path($0), body: ["paused": false]) },
        ]
    }
}
