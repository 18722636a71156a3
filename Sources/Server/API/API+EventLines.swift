internal import Core
internal import HTTP2
internal import Store

extension API {
    /// Many events, each a line; one answer line each, in the order in which they came.
    func postEventLines(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        var lines = Lines(call.request.body)
        var answers: [UInt8] = []
        while true {
            let batch = lines.next()
            guard !batch.isEmpty else { return .lines(answers) }
            try await acceptEvents(batch, call, into: &answers)
        }
    }

    /// Accepts a batch in one transaction and appends its answer lines.
    func acceptEvents(_ lines: [ArraySlice<UInt8>], _ call: Call, into answers: inout [UInt8]) async throws {
        var entries = lines.map { EventLine($0, now: call.now) }
        let contexts = try await store.eventContexts(
            of: Array(Set(entries.compactMap { $0.body?.decoded.match })),
            tenant: call.tenant,
            by: call.deadline
        )
        for index in entries.indices { entries[index].check(contexts, contracts) }
        let order = Self.arranged(entries)
        if !order.isEmpty {
            let incoming = order.compactMap { entries[$0].incoming }
            let accepted = try await store.accept(incoming, tenant: call.tenant, by: call.deadline)
            for (index, answer) in zip(order, accepted) { entries[index].verdict = EventVerdict(answer) }
            if entries.contains(where: { $0.verdict?.isDue == true }) { wake() }
        }
        for entry in entries {
            entry.answer.append(to: &answers)
            answers.append(UInt8(ascii: "\n"))
        }
    }

    /// The lines to be accepted, each match's in the order in which things happened.
    private static func arranged(_ entries: [EventLine]) -> [Int] {
        var order: [MatchID] = []
        var places: [MatchID: [Int]] = [:]
        for (index, entry) in entries.enumerated() {
            guard let incoming = entry.incoming else { continue }
            if places[incoming.match] == nil { order.append(incoming.match) }
            places[incoming.match, default: []].append(index)
        }
        return order.flatMap { match -> [Int] in
            let mine = places[match] ?? []
            return EventOrder.arranged(mine.compactMap { entries[$0].incoming?.event }).map { mine[$0] }
        }
    }
}

/// One line on its way to its answer.
private struct EventLine {
    var body: EventBody?
    var incoming: IncomingEvent?
    var verdict: EventVerdict?
    private var problem: Problem?
    private var warnings: [String] = []
    private var match: String?
    private var event: String?

    init(_ line: ArraySlice<UInt8>, now: Timestamp) {
        do throws(Problem) {
            let json = try Lines.json(line)
            match = json.text("match")
            event = json.text("id")
            body = try EventBody(json, now: now, namesMatch: true)
        } catch {
            problem = error
        }
    }

    mutating func check(_ contexts: [MatchID: EventContext], _ contracts: ContractCache) {
        guard let body, let match = body.decoded.match else { return }
        do throws(Problem) {
            guard let context = contexts[match] else { throw API.noSuchMatch }
            let checked = try context.check(body.decoded, contracts: contracts)
            warnings = checked.warnings
            incoming = IncomingEvent(match: match, event: checked.event, bodyDigest: body.digest)
        } catch {
            problem = error
        }
    }

    var answer: JSONOutput {
        let names: [(String, JSONOutput)] = [("match", .string(match)), ("event", .string(event))]
        if let problem = problem ?? verdict?.problem { return .object(names + problem.lineMembers) }
        var members = names + [("status", .string(verdict?.status)), ("version", .number(verdict?.version))]
        if verdict?.isReplayed == true { members.append(("replayed", true)) }
        if verdict?.status == "ignored" { members.append(("reason", "match_ended")) }
        if !warnings.isEmpty { members.append(("warnings", .array(warnings.map { .string($0) }))) }
        return .object(members)
    }
}
