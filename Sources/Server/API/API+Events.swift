internal import Core
internal import HTTP2
internal import Store

extension API {
    func postEvent(_ call: Call) async throws -> HTTPResponse {
        do {
            return try await takeEvent(call)
        } catch let error as Problem {
            events.add(error.code.status < 500 ? .refused : .failed)
            throw error
        } catch {
            events.add(.failed)
            throw error
        }
    }

    private func takeEvent(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let match = try call.match().match
        let body = try EventBody(try call.json(), now: call.now)
        guard let context = try await context(of: match, call) else { throw Self.noSuchMatch }
        let (event, warnings) = try context.check(body.decoded, contracts: contracts)
        let outcome = try await store.accept(
            event,
            bodyDigest: body.digest,
            match: match,
            tenant: call.tenant,
            by: call.deadline
        )
        let verdict = EventVerdict(outcome, of: event)
        if verdict.isDue { wake() }
        if let problem = verdict.problem { throw problem }
        record(verdict, of: event, match: match, call)
        return verdict.response(match: match, event: event.id, warnings: warnings)
    }

    private func context(of match: MatchID, _ call: Call) async throws -> EventContext? {
        if let ahead = call.ahead, ahead.tenant == call.tenant, ahead.match == match { return ahead.context }
        return try await store.eventContexts(of: [match], tenant: call.tenant, by: call.deadline)[match]
    }

    func listEvents(_ call: Call) async throws -> HTTPResponse {
        let key = try call.match()
        let paging = try Paging(call, parts: 2)
        guard try await store.match(key, by: call.deadline) != nil else { throw Self.noSuchMatch }
        var after: (Timestamp, String)?
        if let place = paging.after, let microseconds = Int64(place[0]) {
            after = (Timestamp(microseconds: microseconds), place[1])
        }
        let page = try await store.events(of: key, after: after, limit: paging.limit, by: call.deadline)
        return .page(page, place: { [String($0.receivedAt.microseconds), $0.id.text] }) { event in
            [
                "event": .string(event.id.text), "kind": .string(event.kind.rawValue),
                "importance": .string(event.importance.rawValue), "status": .string(event.status),
                "version": .number(event.version), "sequence": .number(event.sequence),
                "occurred_at": .time(event.occurredAt), "received_at": .time(event.receivedAt),
                "warnings": .array(event.warnings.map { .string($0) }),
            ]
        }
    }
}
