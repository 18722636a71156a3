internal import Core
internal import Executables

extension Command {
    static let types: [Command] = [
        AdminCommand.one(
            "type set",
            "declare an activity type and what its content state holds",
            arguments: [Argument("BUNDLE", "the app's"), Argument("TYPE", "the ActivityAttributes type")],
            options: [
                Option("--content-state", "JSON|@FILE", isRequired: true, "its contract: names and types"),
                Option("--attributes", "JSON|@FILE", "the contract of its attributes"),
            ],
            example:
                #"touchline type set com.acme.scores MatchAttributes --content-state '{"home":"int","away":"int"}'"#
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
        },
        AdminCommand.list(
            "type list",
            "an app's activity types",
            arguments: [Argument("BUNDLE", "the app's")],
            columns: [.init("TYPE", "type", isID: true), .init("CONTENT STATE", "content_state")],
            example: "touchline type list com.acme.scores"
        ) { invocation in AdminCommand.path("apps", invocation.words[0], "types") },
        AdminCommand.one(
            "type show",
            "one activity type and its contract",
            arguments: [Argument("BUNDLE", "the app's"), Argument("TYPE", "the ActivityAttributes type")],
            example: "touchline type show com.acme.scores MatchAttributes"
        ) { invocation in
            .init(method: "GET", path: AdminCommand.path("apps", invocation.words[0], "types", invocation.words[1]))
        },
    ]
}
