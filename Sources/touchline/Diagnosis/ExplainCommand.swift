internal import APNsProtocol
internal import Core
internal import Executables

extension Command {
    static let explain = Command(
        "explain",
        "say what one of APNs' reasons means, and what to do",
        arguments: [Argument("REASON", "as APNs says it, or a status; without it: all of them", isOptional: true)],
        options: [Option("--json", "for programs")],
        details: """
            Knows every reason of pushes, broadcasts and channels, says whether Touchline sends again by itself, and \
            where TROUBLES.md says more.
            """,
        example: "touchline explain BadDeviceToken"
    ) { invocation throws(Failure) in
        guard let word = invocation.words.first else { return Explanation.list(asJSON: invocation.isOn("--json")) }
        let found = try Explanation.find(word)
        if invocation.isOn("--json") {
            let items = found.map(Explanation.json)
            return Terminal.print((items.count == 1 ? items[0] : .array(items)).text)
        }
        Terminal.print(found.map(Explanation.text).joined(separator: "\n\n"))
    }
}

/// The guides to APNs' reasons, as they are looked up and printed.
enum Explanation {
    /// - Parameter word: A reason in any case, or a status.
    /// - Returns: The one, or all of the status.
    /// - Throws: `notFound`, with the nearest reason.
    static func find(_ word: String) throws(Failure) -> [ReasonGuide] {
        if let guide = ReasonGuide(word) { return [guide] }
        if let status = Int(word) {
            if status == 200 {
                throw Failure(
                    .notFound,
                    "200 says that APNs has taken the push, and not that a phone changed",
                    hint: "Where nothing changes on the phone: \(Trouble.unchanged.place)"
                )
            }
            let found = ReasonGuide.all.filter { $0.status == status }
            if !found.isEmpty { return found }
        }
        let near = Suggestion.nearest(to: word.lowercased(), among: ReasonGuide.all.map { $0.reason.lowercased() })
        let guide = near.flatMap { ReasonGuide($0) }
        throw Failure(
            .notFound,
            "APNs has no reason “\(word)” that is known here",
            hint: guide.map { "Did you mean “\($0.reason)”? Try: touchline explain \($0.reason)" }
                ?? "`touchline explain` lists all that are known. A new one is treated by its status."
        )
    }

    static func list(asJSON: Bool) {
        if asJSON { return Terminal.print(JSONOutput.array(ReasonGuide.all.map(json)).text) }
        var table = Table(["REASON", "STATUS", "WHAT IT IS ABOUT"], rightAligned: [1])
        for guide in ReasonGuide.all { table.add([guide.reason, String(guide.status), guide.trouble.rawValue]) }
        Terminal.print(table.text)
    }

    static func text(_ guide: ReasonGuide) -> String {
        "\(guide.reason), status \(guide.status)\n\n" + LabelledText.text(meaning(of: guide))
    }

    static func meaning(of guide: ReasonGuide) -> [(label: String, text: String)] {
        [
            ("cause", guide.cause), ("what to do", guide.remedy), ("Touchline", guide.handling),
            ("more", guide.trouble.place),
        ]
    }

    static func json(_ guide: ReasonGuide) -> JSONOutput {
        [
            "reason": .string(guide.reason), "status": .int(guide.status), "cause": .string(guide.cause),
            "what_to_do": .string(guide.remedy), "touchline": .string(guide.handling),
            "more": .string(guide.trouble.place),
        ]
    }
}
