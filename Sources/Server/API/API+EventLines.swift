internal import Core
internal import HTTP2
internal import Store

extension API {
    /// Many events, each a line; one answer line each, in the order in which they came.
    ///
    /// Up to ``LineReader/batch`` lines are put in order and accepted together.
    func postEventLines(_ call: Call, _ exchange: any LineExchange) async throws {
        try call.noQuery()
        var reader = LineReader(exchange)
        let failed = { self.note($0, inLinesOf: call) }
        try await reader.answerAll(to: exchange, parse: { EventLine($0, now: now()) }, failed: failed) { entries in
            try await accept(&entries, call.renewed(patience))
        }
    }

    /// Accepts a batch in one transaction.
    private func accept(_ entries: inout [EventLine], _ call: Call) async throws {
        do {
            try await takeIn(&entries, call)
        } catch {
            events.add(.failed, entries.count)
            throw error
        }
        for entry in entries { record(entry.verdict, of: entry.incoming?.event, match: entry.incoming?.match, call) }
    }

    private func takeIn(_ entries: inout [EventLine], _ call: Call) async throws {
        let contexts = try await store.eventContexts(
            of: Array(Set(entries.compactMap { $0.body?.decoded.match })),
            tenant: call.tenant,
            by: call.deadline
        )
        for index in entries.indices { entries[index].check(contexts, contracts) }
        let order = Self.arranged(entries)
        guard !order.isEmpty else { return }
        let incoming = order.compactMap { entries[$0].incoming }
        let accepted = try await store.accept(incoming, tenant: call.tenant, by: call.deadline)
        for (index, (incoming, outcome)) in zip(order, zip(incoming, accepted)) {
            entries[index].verdict = EventVerdict(outcome, of: incoming.event)
        }
        if entries.contains(where: { $0.verdict?.isDue == true }) { wake() }
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
        // By match, so that two requests lock the same matches in the same order.
        return order.sorted { $0.text < $1.text }.flatMap { match -> [Int] in
            let mine = places[match] ?? []
            return EventOrder.arranged(mine.compactMap { entries[$0].incoming?.event }).map { mine[$0] }
        }
    }
}

/// One line on its way to its answer.
private struct EventLine: AnsweredLine {
    var body: EventBody?
    var incoming: IncomingEvent?
    var verdict: EventVerdict?
    private var problem: Problem?
    private var warnings: [String] = []
    private var match: String?
    private var event: String?

    init(_ line: LineSplitter.Line, now: Timestamp) {
        do throws(Problem) {
            let json = try line.json()
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

    /// The answer line; `refusal` is what kept the whole batch from being looked at.
    func answer(_ refusal: Problem?) -> JSONOutput {
        let names: [(String, JSONOutput)] = [("match", .string(match)), ("event", .string(event))]
        if let problem = problem ?? verdict?.problem ?? refusal { return .object(names + problem.lineMembers) }
        var members = names + [("status", .string(verdict?.status)), ("version", .number(verdict?.version))]
        if verdict?.isReplayed == true { members.append(("replayed", true)) }
        members += verdict?.reason ?? []
        let warnings = warnings + (verdict?.warnings ?? [])
        if !warnings.isEmpty { members.append(("warnings", .array(warnings.map { .string($0) }))) }
        return .object(members)
    }
}
