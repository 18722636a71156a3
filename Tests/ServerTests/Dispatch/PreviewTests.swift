import APNs
import APNsProtocol
import APNsSimulator
import Core
import Store
import TestSupport
import Testing

@testable import Server

/// What an event would send: shown before, and held against what is sent when it is posted.
@Suite("A preview", .database, .timeLimit(.minutes(5)))
struct PreviewTests {
    private static func options(_ app: String = "frequent_gap_seconds = 60") -> EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', \(app)"
        return options
    }

    private func event(
        _ home: Int,
        kind: EventKind = .update,
        importance: Importance = .routine,
        alert: String? = nil
    ) -> FeedEvent {
        FeedEvent(
            id: EventID(unchecked: "e\(home)"),
            kind: kind,
            importance: importance,
            contentState: RawJSON(text: #"{"home":\#(home)}"#),
            alert: alert.map { RawJSON(text: #"{"title":"\#($0)"}"#) },
            relevanceScore: "1.50",
            apsExtra: RawJSON(text: #"{"x":"ñ"}"#)
        )
    }

    private func preview(_ event: FeedEvent, _ engine: EngineFixture) async throws -> [PushPreview] {
        let incoming = IncomingEvent(match: engine.key.match, event: event, bodyDigest: [7])
        let preview = try await engine.store.preview(incoming, tenant: engine.key.tenant, by: EngineFixture.soon)
        guard case .accepted = preview.outcome.answer else {
            Issue.record("not accepted: \(preview.outcome.answer)")
            return []
        }
        return PushPreview.all(preview)
    }

    private func post(_ event: FeedEvent, _ engine: EngineFixture) async throws {
        _ = try await engine.store.accept(
            event,
            bodyDigest: [7],
            match: engine.key.match,
            tenant: engine.key.tenant,
            endHold: .zero,
            by: EngineFixture.soon
        )
        engine.bell.ring()
    }

    /// The same text, whatever second it was composed in: numbers of ten digits are times.
    private func timeless(_ text: String) -> String { text.replacing(/[0-9]{10}/, with: "T") }

    @Test("is byte for byte what is then sent, to a channel and to tokens")
    func isExact() async throws {
        try await EngineFixture.run(Self.options()) { engine in
            try await engine.register(1...3)
            try await engine.register(4...5, frequent: false)
            try await engine.until("SELECT state = 'open' FROM channels")
            let goal = event(1, importance: .key, alert: "Goal!")
            let foreseen = try await preview(goal, engine)
            #expect(foreseen.map(\.recipients) == [1, 3, 2])
            #expect(foreseen.allSatisfy { $0.decision == .send && $0.plan.priority == 10 && $0.plan.carriesAlert })
            #expect(await engine.simulator.requests(last: 100).allSatisfy { $0.path.contains("channels") })

            try await post(goal, engine)
            try await engine.untilSettled()
            let sent = await engine.simulator.requests(last: 100).filter { !$0.path.contains("channels") }
            #expect(sent.count == 6)
            for request in sent {
                let isToken = request.headers["apns-channel-id"] == nil
                let push = try #require(foreseen.first { ($0.target.channel == nil) == isToken })
                let body = String(decoding: request.body, as: UTF8.self)
                #expect(timeless(String(decoding: push.batch.payload, as: UTF8.self)) == timeless(body))
                #expect(push.batch.payload.count == request.body.count)
                for (name, value) in push.batch.headers.shared {
                    #expect(timeless(request.headers[name] ?? "") == timeless(value), "\(name)")
                }
                guard let recipient = push.batch.recipients.first else { continue }
                #expect(request.headers[recipient.route.idHeader] == recipient.id.description)
                #expect(request.path == recipient.route.path)
            }
        }
    }

    @Test("leaves nothing behind", arguments: [EventKind.update, .correction, .end])
    func leavesNothing(kind: EventKind) async throws {
        try await EngineFixture.run(Self.options()) { engine in
            try await engine.register(1...3)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await post(event(1, importance: .key, alert: "Goal!"), engine)
            try await engine.untilSettled()
            try await engine.until("SELECT bool_and(due_at IS NULL AND lease_until IS NULL) FROM targets")
            let tables = ["matches", "targets", "events", "stragglers", "turns", "channels", "activities"]
            let all = tables.map { "(SELECT string_agg(x::text, ';' ORDER BY x::text) FROM \($0) x)" }
            let sum = "SELECT concat_ws('|', \(all.joined(separator: ", ")))"
            let before = try await engine.value(sum)
            let pushes = try await preview(event(2, kind: kind, importance: .key), engine)
            #expect(pushes.count == (kind == .end ? 4 : 2))
            #expect(try await engine.value(sum) == before)
            #expect(await engine.pushes().values.allSatisfy { $0.count == 1 })
        }
    }

    @Test("says until when pacing holds a routine update back, and that a goal goes at once, lowered if need be")
    func pacing() async throws {
        let options = Self.options("frequent_gap_seconds = 3600, frequent_urgent_per_hour = 1")
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...3)
            try await engine.until("SELECT state = 'open' FROM channels")
            #expect(try await preview(event(1), engine).allSatisfy { $0.decision == .send && $0.plan.priority == 5 })
            try await post(event(1), engine)
            try await engine.untilSettled()
            for push in try await preview(event(2), engine) {
                #expect(push.decision == .wait)
                #expect(push.at == push.target.sweep.pacing.routineAt.map { $0 + .seconds(3_600) })
                #expect(push.plan.priority == 5)
            }
            #expect(try await preview(event(2, importance: .key), engine).allSatisfy { $0.plan.priority == 10 })
            try await post(event(2, importance: .key), engine)
            try await engine.untilSettled()
            for push in try await preview(event(3, importance: .key), engine) {
                #expect(push.decision == .send && push.plan.priority == 5 && push.plan.isDowngraded)
            }
        }
    }

    @Test("of an end has its state as a goal would go, then the end; a pause holds back only the first")
    func end() async throws {
        try await EngineFixture.run(Self.options()) { engine in
            try await engine.register(1...3)
            try await engine.until("SELECT state = 'open' FROM channels")
            let whistle = event(1, kind: .end, importance: .key)
            let pushes = try await preview(whistle, engine)
            #expect(pushes.map(\.isEnd) == [false, false, true, true])
            #expect(pushes.allSatisfy { $0.decision == .send || $0.isEnd })
            #expect(pushes.map(\.versions) == [1...1, 1...1, 2...2, 2...2])
            let stamps = pushes.map { push in
                String(decoding: push.batch.payload, as: UTF8.self).firstMatch(of: /"timestamp":([0-9]+)/).flatMap {
                    Int64($0.output.1)
                }
            }
            #expect(stamps[0] == stamps[1] && stamps[2] == stamps[3])
            #expect(try #require(stamps[0]) < #require(stamps[2]))

            _ = try await engine.store.pauseMatch(engine.key, true, by: EngineFixture.soon)
            let paused = try await preview(whistle, engine)
            #expect(paused.map(\.decision.rawValue).prefix(2) == ["paused", "paused"])
            #expect(paused.dropFirst(2).allSatisfy { $0.isEnd && $0.decision != .paused && $0.versions == 1...2 })
        }
    }
}
