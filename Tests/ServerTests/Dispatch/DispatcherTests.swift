import APNsSimulator
import Core
import Server
import TestSupport
import Testing

@Suite("The dispatcher", .database, .timeLimit(.minutes(5)))
struct DispatcherTests {
    @Test("brings a key event to the channel and every token, once, urgent, with its alert")
    func keyEvent() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single'"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...25)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.untilSettled()

            let pushes = await engine.pushes()
            #expect(pushes.count == 26)
            #expect(pushes.values.allSatisfy { $0.count == 1 })
            let all = pushes.values.flatMap { $0 }
            #expect(all.allSatisfy { $0.priority == 10 && $0.alert == "Goal!" && $0.home == 1 })
            #expect(Set(all.map(\.stamp)).count == 1)
            #expect(Set(all.map(\.id)).count == 26)
        }
    }

    @Test("ten events within a second become few pushes, with stamps that rise strictly, and all end on the newest")
    func burst() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', frequent_gap_seconds = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...25)
            try await engine.until("SELECT state = 'open' FROM channels")
            for home in 1...10 { try await engine.event(home, importance: home % 3 == 0 ? .key : .routine) }
            try await engine.untilSettled()

            let pushes = await engine.pushes()
            #expect(pushes.count == 26)
            for pushes in pushes.values {
                #expect(pushes.last?.home == 10)
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.stamp < $1.stamp })
            }
            let stamps = Dictionary(grouping: pushes.values.flatMap { $0 }, by: \.stamp)
            #expect(stamps.values.allSatisfy { Set($0.map(\.home)).count == 1 })
        }
    }

    @Test("a new version in the middle of a sweep leaves the older alert to those who have not had it")
    func alertAcrossVersions() async throws {
        var options = EngineFixture.Options()
        options.faults = #"{"rules":[{"on":{"route":"device"},"do":{"delay_ms":100}}]}"#
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...400)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.until("SELECT cursor > 0 AND turn_start IS NOT NULL FROM targets")
            try await engine.event(2)
            try await engine.untilSettled()

            let pushes = await engine.pushes()
            #expect(pushes.count == 400)
            #expect(pushes.values.allSatisfy { $0.last?.home == 2 })
            #expect(pushes.values.allSatisfy { $0.count(where: { $0.alert == "Goal!" }) == 1 })
            #expect(pushes.values.contains { $0.count == 2 } && pushes.values.contains { $0.count == 1 })
        }
    }

    @Test("a phone that registers behind gets the newest at once; one that is not gets nothing")
    func registration() async throws {
        try await EngineFixture.run { engine in
            try await engine.event(1)
            try await engine.register(1...1)
            try await engine.register(2...2, shown: 1)
            try await engine.untilSettled()
            #expect(await engine.shown(on: 1) == #"{"home":1}"#)
            #expect(await engine.pushes().count == 1)
        }
    }

    @Test("a routine update waits for its gap, and the newest goes when it is over")
    func pacing() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'none', frequent_gap_seconds = 1"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...5)
            try await engine.event(1)
            try await engine.untilSettled()
            for home in 2...4 { try await engine.event(home) }
            try await engine.untilSettled()
            let pushes = await engine.pushes()
            #expect(pushes.values.allSatisfy { $0.map(\.home) == [1, 4] && $0.allSatisfy { $0.priority == 5 } })
            #expect(try await engine.value("SELECT merged_versions FROM matches") == "2")
        }
    }

    @Test("an end is held, then goes once at priority 10; the tokens go afterwards, and who comes later gets it too")
    func end() async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', frequent_gap_seconds = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...3)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, kind: .end, endHold: .milliseconds(300))
            try await engine.event(2)
            try await engine.until("SELECT NOT EXISTS (SELECT FROM activities)")
            let pushes = await engine.pushes()
            #expect(pushes.count == 4)
            for pushes in pushes.values {
                #expect(pushes.count { $0.event == "end" } == 1)
                #expect(pushes.last?.event == "end" && pushes.last?.home == 2 && pushes.last?.priority == 10)
            }
            #expect(try await engine.value("SELECT next_at > now() + interval '3 hours' FROM channels") == "t")

            try await engine.register(9...9)
            try await engine.until("SELECT NOT EXISTS (SELECT FROM activities)")
            let late = await engine.pushes()[TestTokens.token(9)]
            #expect(late?.map(\.event) == ["end"])
        }
    }
}
