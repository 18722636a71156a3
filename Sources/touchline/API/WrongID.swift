internal import Core
internal import Executables

/// Says what to type instead of an id that the service does not know.
enum WrongID {
    /// Where the ids of a noun stand, and which of a command's words is one.
    private struct List {
        let typed: String
        let path: String
        let member: String
        /// The command that shows them.
        let command: String
    }

    /// The same failure, with the nearest id that there is, and the command that lists all of them.
    static func explained(_ failure: Failure, _ invocation: Invocation) async -> Failure {
        let isAboutApp = failure.message.hasPrefix("there is no app ")
        if let hint = advice[failure.code ?? ""] {
            return Failure(failure.kind, failure.message, hint: hint, code: failure.code)
        }
        // The API's own hints name calls, not commands.
        let isOpen = failure.hint?.contains("/v1/") ?? true
        guard failure.kind == .notFound && isOpen || isAboutApp,
            let list = isAboutApp ? apps(invocation.valueIfDeclared("--bundle") ?? "") : list(invocation)
        else { return failure }
        let known = (try? await ids(list, invocation)) ?? []
        var hint = "`touchline \(list.command)` shows what there is."
        if let near = Suggestion.nearest(to: list.typed, among: known.filter { $0 != list.typed }) {
            hint = "Did you mean “\(near)”? " + hint
        }
        return Failure(failure.kind, failure.message, hint: hint, code: failure.code)
    }

    /// What a code of the API asks of the command line.
    private static let advice = [
        "tenant_required": "Name it: --tenant t_…, or export TOUCHLINE_TENANT=t_…; `touchline tenant list` shows them.",
        "unauthenticated": "Is the key in TOUCHLINE_KEY, or in --key-file, one of the service at TOUCHLINE_URL?",
        "role_not_allowed":
            "`touchline key create --role admin` makes one that may; its secret goes into TOUCHLINE_KEY.",
    ]

    private static func list(_ invocation: Invocation) -> List? {
        let words = invocation.words
        guard let noun = invocation.command.words.first, let id = words.first else { return nil }
        switch noun {
        case "match", "event", "activity":
            return List(typed: id, path: "/v1/matches", member: "match", command: "match list")
        case "channel":
            guard invocation.command.words.last == "delete" else {
                return List(typed: id, path: "/v1/matches", member: "match", command: "match list")
            }
            return List(typed: id, path: "/v1/channels", member: "channel_id", command: "channel audit")
        case "device":
            return List(typed: id, path: "/v1/devices", member: "device", command: "device list")
        case "tenant": return List(typed: id, path: "/v1/tenants", member: "tenant", command: "tenant list")
        case "app": return apps(id)
        case "type":
            guard words.count > 1 else { return apps(id) }
            let path = AdminCommand.path("apps", id, "types")
            return List(typed: words[1], path: path, member: "type", command: "type list \(id)")
        case "key":
            let path = AdminCommand.path("tenants", invocation.valueIfDeclared("--tenant") ?? "", "keys")
            return List(typed: id, path: path, member: "key", command: "key list")
        default: return nil
        }
    }

    private static func apps(_ bundle: String) -> List {
        List(typed: bundle, path: "/v1/apps", member: "bundle", command: "app list")
    }

    private static func ids(_ list: List, _ invocation: Invocation) async throws(Failure) -> [String] {
        let client = try APIOptions.client(invocation)
        let answer = try await client.send("GET", list.path + "?limit=1000", timeout: .seconds(10))
        guard let value = try? JSONScanner.decode(answer.body), case .array(let items)? = value.member("items")?.content
        else { return [] }
        return items.compactMap { item in
            if case .string(let id)? = item.member(list.member)?.content { id } else { nil }
        }
    }
}
