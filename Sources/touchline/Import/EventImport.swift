internal import Core
internal import Executables

extension Command {
    static let eventImport = Command(
        "event import",
        "post many events of many matches from a file, as a feed does",
        arguments: [Argument("FILE", "JSON lines; - for standard input")],
        options: [APIOptions.json] + APIOptions.all,
        details: """
            A line is an event as the API takes it, with “match” beside it: {"match": "final", "id": "21", "importance": "key", \
            "content_state": {"home": 1, "away": 0}}. Each match's are taken in the order of their “sequence” or “occurred_at”. \
            The same file again changes nothing. Lines that are refused are named, and are no reason to refuse the others.
            """,
        example: "touchline event import events.jsonl"
    ) { invocation throws(Failure) in
        let lines = EventLines.lines(try File.read(invocation.words[0]))
        let api = try APIOptions.client(invocation, patience: .seconds(60))
        var answers: [EventLines.Answer] = []
        for start in stride(from: 0, to: lines.count, by: EventLines.atOnce) {
            let part = lines[start..<min(start + EventLines.atOnce, lines.count)]
            let body = Array(part.map(\.bytes).joined(separator: [UInt8(ascii: "\n")]))
            let answer = try await api.send("POST", "/v1/events", bytes: body, type: "application/x-ndjson")
            if invocation.isOn("--json") { Terminal.print(answer.text.trimmed) }
            answers += try EventLines.answers(answer, to: part.map(\.number))
            Terminal.progress("\(answers.count) of \(lines.count) events posted")
        }
        Terminal.endProgress()
        try EventLines.report(answers, isQuiet: invocation.isOn("--json"))
    }
}

/// Lines of events, and what the service answered to each.
enum EventLines {
    /// Of one call.
    static let atOnce = 5_000

    /// What became of one line.
    struct Answer: Equatable, Sendable {
        /// In the file, from 1.
        let line: Int
        let match: String?
        let event: String?
        /// `accepted`, `superseded`, `ignored`; nil: it was refused.
        let status: String?
        let isReplayed: Bool
        /// Why it was refused.
        let problem: String?
    }

    private struct Body: Decodable {
        let match: String?
        let event: String?
        let status: String?
        let replayed: Bool?
        let code: String?
        let detail: String?
        let field: String?
    }

    /// Those that are not empty, with their numbers.
    static func lines(_ bytes: [UInt8]) -> [(number: Int, bytes: ArraySlice<UInt8>)] {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        return text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
            .filter { $0.element.contains { $0 > 0x20 } }
            .map { ($0.offset + 1, $0.element) }
    }

    /// One for each line, in their order.
    static func answers(_ answer: APIClient.Answer, to numbers: [Int]) throws(Failure) -> [Answer] {
        let lines = answer.body.split(separator: UInt8(ascii: "\n"))
        guard lines.count == numbers.count else {
            throw Failure(.failed, "the service answered \(lines.count) of \(numbers.count) lines")
        }
        var answers: [Answer] = []
        for (number, line) in zip(numbers, lines) {
            let body: Body = try APIClient.Answer(status: answer.status, body: Array(line)).decode()
            let problem = body.code.map { code in
                (body.detail ?? "refused") + (body.field.map { " (field \($0))" } ?? "") + " [\(code)]"
            }
            answers.append(
                Answer(
                    line: number,
                    match: body.match,
                    event: body.event,
                    status: body.code == nil ? body.status : nil,
                    isReplayed: body.replayed ?? false,
                    problem: problem
                )
            )
        }
        return answers
    }

    /// `12 events: 10 accepted, 1 superseded, 1 ignored`, those that the service knew already apart.
    static func summary(_ answers: [Answer]) -> String {
        let known = answers.count { $0.isReplayed }
        let kinds = ["accepted", "superseded", "ignored"].compactMap { kind -> String? in
            let count = answers.count { $0.status == kind && !$0.isReplayed }
            return count > 0 || kind == "accepted" ? "\(count) \(kind)" : nil
        }
        let refused = answers.count { $0.status == nil }
        let rest = [known > 0 ? "\(known) known already" : nil, refused > 0 ? "\(refused) refused" : nil]
        return "\(answers.count) \(answers.count == 1 ? "event" : "events"): "
            + (kinds + rest.compactMap(\.self)).joined(separator: ", ")
    }

    /// Names what was refused, and says what became of all.
    ///
    /// Throws a ``Failure`` when a line was refused.
    static func report(_ answers: [Answer], isQuiet: Bool) throws(Failure) {
        let refused = answers.filter { $0.status == nil }
        if !isQuiet {
            for answer in refused.prefix(50) {
                let place = answer.match.map { ", match \($0)" } ?? ""
                Terminal.complain("line \(answer.line)\(place): \(answer.problem ?? "refused")")
            }
            if refused.count > 50 { Terminal.complain("and \(refused.count - 50) more") }
            Terminal.print(summary(answers))
        }
        guard refused.isEmpty else {
            throw Failure(
                .failed,
                "\(refused.count) of \(answers.count) events \(refused.count == 1 ? "was" : "were") refused",
                hint: "Mend those lines and post the file again: what was accepted stays as it is."
            )
        }
    }
}
