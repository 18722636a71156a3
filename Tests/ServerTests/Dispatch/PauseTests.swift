import APNsProtocol
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

/// A tenant, an app or a match is paused: nothing goes out but ends.
@Suite("A pause", .database, .timeLimit(.minutes(5)))
struct PauseTests {
    enum Level: String, CaseIterable, Sendable { case tenant, app, match }

    private static var options: EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', frequent_gap_seconds = 0"
        return options
    }

    /// Pauses or resumes, as the API's handlers do.
    private func pause(_ level: Level, _ isPaused: Bool, _ engine: EngineFixture) async throws {
        let app = AppKey(
            tenant: engine.key.tenant,
            bundle: try #require(BundleID(validating: EngineFixture.bundle)),
            environment: .production
        )
        let (store, soon) = (engine.store, EngineFixture.soon)
        switch level {
        case .tenant: _ = try await store.changeTenant(app.tenant, name: nil, isPaused: isPaused, by: soon)
        case .app: _ = try await store.changeApp(app, isPaused: isPaused, resumes: false, by: soon) { _ in }
        case .match: _ = try await store.pauseMatch(engine.key, isPaused, by: soon)
        }
        if !isPaused { try await store.markBehind(app, by: soon) }
        engine.bell.ring()
    }

    /// Nothing is due, and nothing is leased: the engine has looked at what came, and left it.
    private static let isAtRest = "SELECT bool_and(due_at IS NULL AND lease_until IS NULL) FROM targets"

    @Test("holds updates back, goals too, and lets the newest one go when it is over", arguments: Level.allCases)
    func holdsBack(level: Level) async throws {
        try await EngineFixture.run(Self.options) { engine in
            try await engine.register(1...12)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await pause(level, true, engine)
            for home in 1...3 { try await engine.event(home, importance: .key, alert: "Goal \(home)!") }
            try await engine.until(Self.isAtRest)
            #expect(await engine.pushes().isEmpty)

            try await pause(level, false, engine)
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.count == 13)
            #expect(pushes.values.allSatisfy { $0.map(\.home) == [3] })
        }
    }

    @Test("lets an end through, with all that came before it", arguments: Level.allCases)
    func letsEndsThrough(level: Level) async throws {
        try await EngineFixture.run(Self.options) { engine in
            try await engine.register(1...12)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await pause(level, true, engine)
            try await engine.event(1, importance: .key)
            try await engine.until(Self.isAtRest)
            try await engine.event(2, kind: .end, importance: .key)
            // Held for no time: the end is a version of its own, the third.
            try await engine.until("SELECT bool_and(reached_version = 3) FROM targets")
            let pushes = await engine.pushes()
            #expect(pushes.count == 13)
            #expect(pushes.values.allSatisfy { $0.map(\.home) == [2] && $0[0].event == "end" })
        }
    }

    @Test("keeps a phone that comes meanwhile waiting, but not beyond the pause")
    func phoneMeanwhile() async throws {
        var options = Self.options
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0"
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...1)
            try await engine.event(1, importance: .key)
            try await engine.dispatching(options) { try await engine.untilSettled() }
            try await pause(.match, true, engine)
            try await engine.register(2...2)
            try await engine.dispatching(options) {
                try await engine.until("SELECT due_at > clock_timestamp() + interval '20 s' FROM stragglers")
            }
            try await pause(.match, false, engine)
            #expect(try await engine.value("SELECT (due_at <= clock_timestamp())::text FROM stragglers") == "true")
            try await engine.dispatching(options) { try await engine.untilSettled() }
            #expect(await engine.shown(on: 2) == #"{"home":1}"#)
        }
    }
}
