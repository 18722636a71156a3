internal import Core
internal import Executables

/// An event as the command line says it: a file, options, or a file with options that replace what it says.
enum EventOptions {
    static let all = [
        Option("--id", "ID", "the feed's own; the same id again changes nothing (needed, unless the file has it)"),
        Option("--file", "FILE", "the event as JSON, as the API takes it; - for standard input"),
        Option("--kind", "KIND", "update (else), correction, heartbeat or end"),
        Option("--importance", "HOW", "routine (else) or key"),
        Option("--content-state", "JSON|@FILE", "the match's new state"),
        Option("--sequence", "N", "the feed's own order"),
        Option("--occurred-at", "TIME", "RFC 3339, when it happened"),
        Option("--alert-title", "TEXT", "with --alert-body: shown as a notification"),
        Option("--alert-body", "TEXT", "with --alert-title"),
        Option("--alert-sound", "SOUND", "of the alert, else “default”"),
        Option("--alert-expires-after", "SECONDS", "when the alert is too old to be sent, else 120"),
        Option("--stale-after", "SECONDS", "when this state is stale"),
        Option("--dismiss-after", "SECONDS", "with --kind end: when the card goes"),
        Option("--relevance-score", "NUMBER", "which card is on top, where a phone shows several"),
        Option("--aps-extra", "JSON|@FILE", "members of aps that Touchline does not know"),
    ]

    /// The body for `POST /v1/matches/{match}/events`.
    ///
    /// `defaultID` stands where neither options nor file have an id; without one that is a ``Failure``.
    static func body(_ invocation: Invocation, defaultID: String? = nil) throws(Failure) -> JSONOutput {
        var members: [(name: String, value: JSONOutput)] = []
        if let file = invocation.value("--file") { members = try read(file) }
        for case (let name, let value?) in try given(invocation) {
            members.removeAll { $0.name == name }
            members.append((name, value))
        }
        if !members.contains(where: { $0.name == "id" }) {
            let id = if let defaultID { defaultID } else { try invocation.required("--id") }
            members.insert(("id", .string(id)), at: 0)
        }
        return .object(members)
    }

    private static func given(_ invocation: Invocation) throws(Failure) -> [(name: String, value: JSONOutput?)] {
        [
            ("id", AdminCommand.text("--id", invocation)),
            ("kind", AdminCommand.text("--kind", invocation)),
            ("sequence", try AdminCommand.number("--sequence", invocation)),
            ("occurred_at", AdminCommand.text("--occurred-at", invocation)),
            ("importance", AdminCommand.text("--importance", invocation)),
            ("content_state", try AdminCommand.json("--content-state", invocation)),
            ("alert", try alert(invocation)),
            ("stale_after", try AdminCommand.number("--stale-after", invocation)),
            ("dismiss_after", try AdminCommand.number("--dismiss-after", invocation)),
            ("relevance_score", try AdminCommand.json("--relevance-score", invocation)),
            ("aps_extra", try AdminCommand.json("--aps-extra", invocation)),
        ]
    }

    private static func alert(_ invocation: Invocation) throws(Failure) -> JSONOutput? {
        switch (invocation.value("--alert-title"), invocation.value("--alert-body")) {
        case (nil, nil): return nil
        case (let title?, let body?):
            return .members([
                ("title", .string(title)), ("body", .string(body)),
                ("sound", .string(invocation.value("--alert-sound") ?? "default")),
                ("expires_after", try AdminCommand.number("--alert-expires-after", invocation)),
            ])
        default: throw Failure(.wrongUse, "--alert-title and --alert-body go together")
        }
    }

    private static func read(_ file: String) throws(Failure) -> [(name: String, value: JSONOutput)] {
        let bytes = try File.read(file)
        do throws(Problem) {
            guard case .object(let members) = try JSONScanner.decode(bytes).content else {
                throw Problem(.malformedJSON, "it is no JSON object", hint: "One event stands in it, as API.md has it.")
            }
            return members.map { ($0.name, .raw($0.value.rawJSON)) }
        } catch {
            throw Failure(.wrongUse, "\(file): \(error.detail)", hint: error.hint)
        }
    }
}
