internal import Core
internal import Executables
internal import FoundationEssentials

extension Command {
    private static let match = Argument("MATCH", "its id")

    private static func start(_ invocation: Invocation) throws(Failure) -> JSONOutput? {
        let lead = try AdminCommand.number("--start-lead", invocation, in: 0...86_400)
        guard let alert = try alert(invocation, title: "--start-title", body: "--start-body") else {
            guard lead == nil else {
                throw Failure(.wrongUse, "--start-lead needs --start-title and --start-body: what the start shows")
            }
            return nil
        }
        return .members([("alert", alert), ("lead", lead)])
    }

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
                Option("--attributes", "JSON|@FILE", "what does not change while it is played"),
                Option("--topics", "LIST", "split by commas: team:arg,competition:wc-2026"),
                Option("--start-title", "TEXT", "with --start-body: the match is started on its followers' phones"),
                Option("--start-body", "TEXT", "with --start-title"),
                Option("--start-lead", "SECONDS", "how long before its kick-off, instead of the app's start lead"),
                Option("--status", "STATUS", "scheduled, postponed or abandoned"),
                Option(
                    "--ends-after-silence",
                    "SECONDS",
                    "without an event it ends by itself, instead of the app's 36 hours"
                ),
                Option("--renew", "begin a match that has ended anew, for another season"),
            ],
            details: """
                A match that is there already becomes what this says: topics, attributes and the start are taken away where they are \
                not named again. One that has ended stays so, and its events are ignored, unless it is renewed.
                """,
            example: "touchline match create final --bundle com.acme.scores --type MatchAttributes "
                + #"--kickoff-at 2026-07-19T19:00:00Z --content-state '{"home":0,"away":0}'"#,
            remark: { answer throws(Failure) in try? answer.decode(MatchHint.self).hint }
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
                    ("attributes", try AdminCommand.json("--attributes", invocation)),
                    ("start", try start(invocation)),
                    ("status", AdminCommand.text("--status", invocation)),
                    ("ends_after_silence", try AdminCommand.number("--ends-after-silence", invocation)),
                    ("renew", invocation.isOn("--renew") ? true : nil),
                ])
            )
        },
        matchImport,
        AdminCommand.list(
            "match list",
            "the tenant's matches",
            columns: [
                .init("MATCH", "match", isID: true), .init("STATUS", "status"), .init("VERSION", "version"),
                .init("KICK-OFF", "kickoff_at"), .init("BUNDLE", "bundle", isID: true),
            ],
            example: "touchline match list"
        ) { _ in "/v1/matches" },
        Command(
            "match show",
            "one match: its state, version and channels, and what became of its newest versions",
            arguments: [match],
            options: [APIOptions.json] + APIOptions.all,
            details: """
                The table has the last ten versions that were sent: the phones (or channels) that were to get each, and what became \
                of them: WANTED is the sum of the columns up to WAIT. GONE are phones that deleted the app, REFUSED are tokens that \
                APNs does not know, GIVEN UP is what failed for good; MERGED got a newer version instead. DELAYED waited for \
                pacing, and LOWERED went at priority 5, the hour's allowance of priority 10 being used up: both are left out while \
                they are 0. Below stands what is behind, since when, and what APNs answered last; and what keeps its pushes back.
                """,
            example: "touchline match show final"
        ) { invocation throws(Failure) in
            let client = try APIOptions.client(invocation)
            let path = AdminCommand.path("matches", invocation.words[0])
            let view = AnswerView(invocation)
            let match = try await client.send("GET", path)
            try view.object(match)
            guard !view.asJSON else { return }
            let columns: [AnswerView.Column] = [
                .init("VERSION", "version"), .init("TARGET", "target"), .init("WANTED", "registered"),
                .init("TAKEN", "accepted"), .init("GONE", "removed"), .init("REFUSED", "refused"),
                .init("GIVEN UP", "given_up"), .init("MERGED", "merged"), .init("WAIT", "waiting"),
                .init("DELAYED", "delayed", isOptional: true), .init("LOWERED", "downgraded", isOptional: true),
                .init("LAST MS", "last_push_ms"),
            ]
            let look = MatchLook(api: client, match: invocation.words[0])
            // A key of the role `app` may see the match, but not its deliveries.
            let deliveries = try await look.deliveries()
            if let deliveries {
                Terminal.print("")
                try view.list(deliveries, columns, list: "sums", whenEmpty: "nothing was sent yet", last: 10)
            }
            let watched = try WatchedMatch(match: match, deliveries: deliveries, apps: try await look.apps())
            let remarks = watched.behind(now: .now) + watched.errors + (try MatchSilence(match).remarks)
            if !remarks.isEmpty { Terminal.print("\n" + remarks.joined(separator: "\n")) }
        },
        matchWatch,
        AdminCommand.list(
            "match deliveries",
            "what became of a match's pushes",
            arguments: [match],
            columns: [
                .init("TARGET", "target"), .init("ENV", "environment"), .init("CADENCE", "cadence"),
                .init("VERSIONS", "versions", isRange: true), .init("STATE", "state"), .init("WANTED", "wanted"),
                .init("TAKEN", "accepted"), .init("GONE", "removed"), .init("REFUSED", "refused"),
                .init("GIVEN UP", "given_up"), .init("MERGED", "merged", isOptional: true), .init("WAIT", "waiting"),
                .init("BEHIND SINCE", "behind_since", isOptional: true),
                .init("LAST ANSWER", "last_answer", isOptional: true),
            ],
            items: "sends",
            whenEmpty: "nothing was sent yet",
            isPaged: false,
            example: "touchline match deliveries final"
        ) { invocation in AdminCommand.path("matches", invocation.words[0], "deliveries") },
        AdminCommand.one(
            "match change",
            "pause or resume a match",
            arguments: [match],
            options: [Option("--paused", "YES|NO", "whether its pushes wait; its end still goes out")],
            example: "touchline match change final --paused yes"
        ) { invocation throws(Failure) in
            .init(
                method: "PATCH",
                path: AdminCommand.path("matches", invocation.words[0]),
                body: .members([("paused", try AdminCommand.yesOrNo("--paused", invocation))])
            )
        },
        AdminCommand.one(
            "match withdraw-end",
            "take back an end that was sent, while it is held",
            arguments: [match],
            details: """
                An end is held for five seconds, in which its state is out and the match is not over yet. Afterwards nothing \
                takes it back: phones ignore what comes after an end. It is ended later by an event with an id of its own.
                """,
            example: "touchline match withdraw-end final"
        ) { invocation in .init(method: "DELETE", path: AdminCommand.path("matches", invocation.words[0], "end")) },
        AdminCommand.one(
            "match reset-order",
            "let a match's next event be taken, whatever its sequence and time",
            arguments: [match],
            details: """
                For a feed that counts its sequence anew: its events are superseded until they pass the highest one of before. A \
                feed that sends occurred_at beside the sequence needs none of this.
                """,
            example: "touchline match reset-order final"
        ) { invocation in .init(method: "DELETE", path: AdminCommand.path("matches", invocation.words[0], "order")) },
        AdminCommand.one(
            "match delete",
            "delete a match, its phones and, after the app's linger, its channels",
            arguments: [match],
            details: """
                What is on Lock Screens stays there: end the match before. Its channels go once the app's channel_linger is over, \
                and are listed until then.
                """,
            example: "touchline match delete final"
        ) { invocation in .init(method: "DELETE", path: AdminCommand.path("matches", invocation.words[0])) },
    ]
}
