internal import Core
internal import Executables

/// An audit of channels: a meter for each app, then the ids that something is to be done about.
struct ChannelAuditView {
    private let view: AnswerView

    init(_ invocation: Invocation) { view = AnswerView(invocation) }

    func show(_ answer: APIClient.Answer) throws(Failure) {
        if view.asJSON { return Terminal.print(answer.text) }
        guard let value = try? JSONScanner.decode(answer.body), case .array(let items)? = value.member("items")?.content
        else { throw Failure(.failed, "the service answered something unexpected: \(answer.text.prefix(200))") }
        Terminal.print(Self.text(items))
    }

    static func text(_ items: [JSONValue]) -> String {
        var apps = Table(
            ["APP", "ENVIRONMENT", "USED", "OF", "OPEN", "ORPHANED", "LOST", "FOREIGN"],
            rightAligned: Set(2...7)
        )
        var ids = Table(["CHANNEL", "WHAT", "MATCH", "DONE"], whole: [0, 2])
        var hasIDs = false
        for item in items {
            let lists = ["orphaned", "lost", "foreign"].map { ($0, elements(item.member($0))) }
            apps.add(
                ["bundle", "environment", "used", "limit", "open"].map { plain(item.member($0)) }
                    + lists.map { String($0.1.count) }
            )
            for (what, entries) in lists {
                for entry in entries {
                    hasIDs = true
                    let isDone = ["deleted", "replaced"].first { plain(entry.member($0)) == "true" }
                    let id = entry.member("channel_id") ?? entry
                    ids.add([plain(id), what, plain(entry.member("match")), isDone ?? "–"])
                }
            }
        }
        return hasIDs ? "\(apps.text)\n\n\(ids.text)" : apps.text
    }

    private static func elements(_ value: JSONValue?) -> [JSONValue] {
        if case .array(let elements)? = value?.content { elements } else { [] }
    }

    private static func plain(_ value: JSONValue?) -> String {
        switch value?.content {
        case nil: "–"
        case .string(let text)?: text
        default: value?.rawJSON.text ?? "–"
        }
    }
}
