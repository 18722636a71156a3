import APNsProtocol
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("A database whose clock is set", .database, .timeLimit(.minutes(5)))
struct ClockTests {
    /// What would be waited for is minutes away.
    private static let promptly = Duration.seconds(25)

    @Test(
        "back, or another with an earlier clock: a goal goes out at once, above the last stamp, and its answer says so",
        arguments: ["30 seconds", "10 minutes", "65 minutes"]
    )
    func back(by time: String) async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', storage_policy = 1"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...3)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.event(1, importance: .key, alert: "One")
            try await engine.untilSettled()
            try await engine.setClockBack(time)
            for home in 2...3 {
                let event = """
                    {"id":"e\(home)","importance":"key","content_state":{"home":\(home)},
                    "alert":{"title":"Goal","body":"\(home)"}}
                    """
                let answer = try await engine.admin().json("POST", "/v1/matches/final/events", event, 202)
                #expect(answer["warnings"].elements.contains { $0.text == "clock_ahead" })
                engine.bell.ring()
                try await engine.untilSettled(within: Self.promptly)
            }
            for pushes in await engine.pushes().values {
                #expect(pushes.map(\.home) == [1, 2, 3] && pushes.map(\.alert) == ["One", "Goal", "Goal"])
                #expect(pushes.map(\.stamp) == pushes.map(\.stamp).sorted() && Set(pushes.map(\.stamp)).count == 3)
                #expect(pushes.allSatisfy { $0.priority == 10 })
            }
        }
    }

    @Test("ahead for a minute, and back: what was sent meanwhile holds nothing up, and alerts come")
    func ahead() async throws {
        try await EngineFixture.run { engine in
            try await engine.register(1...3)
            try await engine.event(1)
            try await engine.untilSettled()
            try await engine.setClockBack("-10 minutes")
            try await engine.event(2, importance: .key, alert: "Two")
            try await engine.untilSettled(within: Self.promptly)
            try await engine.setClockBack("9 minutes")
            try await engine.event(3)
            try await engine.event(4, importance: .key, alert: "Four")
            try await engine.untilSettled(within: Self.promptly)
            for pushes in await engine.pushes().values {
                #expect(pushes.compactMap(\.alert) == ["Two", "Four"] && pushes.last?.home == 4)
            }
        }
    }

    @Test("back while an end is held: it goes out when its hold is over by the new clock")
    func heldEnd() async throws {
        try await EngineFixture.run { engine in
            try await engine.register(1...3)
            try await engine.event(1, importance: .key)
            try await engine.untilSettled()
            try await engine.event(2, kind: .end, importance: .key, endHold: .seconds(5))
            try await engine.setClockBack("65 minutes")
            try await engine.until("SELECT end_version IS NOT NULL FROM matches", within: Self.promptly)
            try await engine.untilSettled(within: Self.promptly)
            #expect(await engine.pushes().values.allSatisfy { $0.last?.event == "end" })
        }
    }

    @Test("back while a phone and a target wait to be tried again: they are tried at once")
    func waiting() async throws {
        var options = EngineFixture.Options()
        options.faults = """
            {"rules":[{"on":{"token":"\(TestTokens.token(1))","times":1},
            "do":{"status":503,"reason":"ServiceUnavailable","retry_after":"100"}}]}
            """
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...5)
            try await engine.event(1, importance: .key)
            try await engine.until("SELECT count(*) = 1 FROM stragglers WHERE due_at > now() + interval '60 seconds'")
            try await engine.setClockBack("65 minutes")
            try await engine.untilSettled(within: Self.promptly)
            #expect(await engine.pushes().count == 5)
        }
    }

    @Test("back after processes died: what they held is free within half a minute of the new clock")
    func heldByTheDead() async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        options.keepsHouse = false
        options.app = "UPDATE apps SET channels = 'single', storage_policy = 0"
        try await EngineFixture.run(options) { engine in
            try await engine.register(1...1)
            try await engine.event(1, importance: .key)
            try await engine.planStarts()
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                [
                    "UPDATE targets SET lease_owner = 'gone', lease_until = now() + interval '8 seconds'",
                    """
                    INSERT INTO stragglers (tenant_id, match_id, activity, version, environment, cadence, shard,
                                            is_sending, due_at)
                    VALUES ('t_acme', 'final', 'phone-1', 1, 'production', 'frequent', 0, true, now() + interval '9 s')
                    """,
                    "UPDATE start_passes SET state = 'running', lease_owner = 'gone', due_at = now() + interval '20 s'",
                    "UPDATE channels SET attempts = 1, creating_at = now(), next_at = now() + interval '15 seconds'",
                    """
                    INSERT INTO channel_makers (bundle, environment, lease_owner, lease_until)
                    VALUES ('com.example.scores', 'production', 'gone', now() + interval '30 seconds')
                    """,
                    "UPDATE matches SET resend_at = now() + interval '20 s', housekeep_at = now() + interval '15 s'",
                ]
            )
            #expect(try await engine.store.lookAtClock(by: EngineFixture.soon) == nil)
            try await engine.setClockBack("65 minutes")
            let step = try #require(try await engine.store.lookAtClock(by: EngineFixture.soon))
            #expect(abs(step.components.seconds - 3_900) < 60)
            #expect(try await engine.store.lookAtClock(by: EngineFixture.soon) == nil)

            try await engine.pass("31 seconds")
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                [
                    "UPDATE clock SET claims_end_at = claims_end_at - interval '31 seconds'",
                    "UPDATE stragglers SET due_at = due_at - interval '31 seconds'",
                ]
            )
            #expect(try await engine.store.lookAtClock(by: EngineFixture.soon) == nil)
            let late = try await engine.value(
                """
                SELECT string_agg(what, ', ') FROM (
                    SELECT 'lease' FROM targets WHERE lease_until > now()
                    UNION ALL SELECT 'phone' FROM stragglers WHERE due_at > now() OR is_sending
                    UNION ALL SELECT 'pass' FROM start_passes WHERE due_at > now()
                    UNION ALL SELECT 'channel' FROM channels
                        WHERE next_at > now() OR creating_at > now() - interval '30 s'
                    UNION ALL SELECT 'maker' FROM channel_makers WHERE lease_until > now()
                    UNION ALL SELECT 'resend' FROM matches WHERE resend_at > now() OR housekeep_at > now()
                ) AS x (what)
                """
            )
            #expect(late == nil)
        }
    }

    @Test("back: an alert that waits expires when it should, and one that came since is left alone")
    func alerts() async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        options.keepsHouse = false
        try await EngineFixture.run(options) { engine in
            let left = """
                SELECT (alert_expires_at - now() BETWEEN interval '60 s' AND interval '121 s')::text FROM matches
                """
            #expect(try await engine.store.lookAtClock(by: EngineFixture.soon) == nil)
            try await engine.event(1, importance: .key, alert: "One")
            try await engine.setClockBack("65 minutes")
            #expect(try await engine.store.lookAtClock(by: EngineFixture.soon) != nil)
            #expect(try await engine.value(left) == "true")
            try await engine.setClockBack("65 minutes")
            try await engine.event(2, importance: .key, alert: "Two")
            #expect(try await engine.store.lookAtClock(by: EngineFixture.soon) != nil)
            #expect(try await engine.value(left) == "true")
        }
    }
}
