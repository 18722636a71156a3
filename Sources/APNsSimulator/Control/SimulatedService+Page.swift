extension SimulatedService {
    /// The phones as a page to look at: what stands on how many, then the phones one by one.
    func phonesPage(_ filter: PhoneFilter) -> [UInt8] {
        var page = """
            <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Phones</title>
            <meta http-equiv="refresh" content="2"><style>
            body{font:15px/1.4 system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse;margin:1em 0}
            td,th{padding:.25em .8em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
            td.n{text-align:right}code{white-space:pre-wrap;word-break:break-all}.ended{color:#888}
            </style></head><body><h1>Phones</h1>

            """
        page += "<table><tr><th>phones</th><th>show</th></tr>"
        let lines = summaryLines()
        for line in lines.prefix(Self.mostLines) {
            page += "<tr\(line.hasEnded ? " class=\"ended\"" : "")><td class=\"n\">\(line.count)</td><td><code>"
            page += line.contentState.map { Self.escape(String(decoding: $0, as: UTF8.self)) } ?? "nothing yet"
            page += "</code>\(line.hasEnded ? " (ended)" : "")</td></tr>"
        }
        page += "</table>"
        if lines.count > Self.mostLines { page += "<p>and \(lines.count - Self.mostLines) more: GET /_sim/summary</p>" }
        page += """
            <table><tr><th>phone</th><th>environment</th><th>count</th><th>shows</th><th>stamp</th><th>pushes</th>
            <th>alerts</th><th>older</th><th>after end</th><th>undecodable</th><th>budget</th></tr>

            """
        let filter = PhoneFilter(
            token: filter.token,
            channel: filter.channel,
            limit: min(filter.limit, Self.mostPhones)
        )
        var count = 0
        forEachPhone(filter) { phone, token, channel in
            page += Self.row(phone, name: token ?? channel ?? "")
            count += 1
        }
        page += "</table>"
        if filter.token == nil, filter.channel == nil, count < phoneRecords {
            page += "<p>The first \(count) of \(phoneRecords). All of them: GET /_sim/phones as JSON, page by page.</p>"
        }
        return Array((page + "</body></html>\n").utf8)
    }

    private static let mostLines = 20
    private static let mostPhones = 200

    private static func row(_ phone: Phone, name: String) -> String {
        let short = name.count > 24 ? name.prefix(12) + "…" + name.suffix(8) : name[...]
        let shows = phone.shows.map { escape(String(decoding: $0.raw, as: UTF8.self)) } ?? "nothing yet"
        let numbers = [
            phone.pushes, phone.alerts, phone.dropped.older, phone.dropped.afterEnd, phone.dropped.undecodable,
            phone.dropped.budget,
        ]
        return "<tr\(phone.hasEnded ? " class=\"ended\"" : "")><td>\(escape(String(short)))</td>"
            + "<td>\(phone.environment.rawValue)</td><td class=\"n\">\(phone.count)</td><td><code>\(shows)</code></td>"
            + "<td>\(phone.stamp.map { String($0) } ?? "")</td>"
            + numbers.map { "<td class=\"n\">\($0)</td>" }.joined() + "</tr>\n"
    }

    private static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
