import APNsProtocol
import APNsSimulator
import Core
import Foundation
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("Starts", .database, .timeLimit(.minutes(5)))
struct StartTests {
    /// Ten thousand devices: 9,000 follow one of two teams, 500 follow both, and 500 neither.
    private func addDevices(_ engine: EngineFixture) async throws {
        _ = try await engine.store.owner(
            by: EngineFixture.soon,
            """
            INSERT INTO devices (tenant_id, device, bundle, environment, push_to_start_token, topics)
            SELECT 't_acme', 'd' || n, 'com.example.scores', 'production', lpad(to_hex(n), 56, '0') || 'feedc0de',
                   CASE WHEN n <= 500 THEN ARRAY['team:a', 'team:b'] WHEN n <= 5000 THEN ARRAY['team:a', 'x']
                        WHEN n <= 9500 THEN ARRAY['team:b'] ELSE ARRAY['team:c'] END
            FROM generate_series(1, 10000) n
            """
        )
    }

    /// Runs a dispatcher that dies at the 21st `step`, lets the clock go on and another one finish, which finds the journal of
    /// the first or not.
    private func crash(at step: String, findsJournal: Bool, _ engine: EngineFixture) async throws {
        let number = 21
        try await addDevices(engine)
        try await engine.planStarts()
        let steps = WakeCounter()
        let dying = engine.successor(EngineFixture.Options.starts()) { configuration in
            configuration.startJournals = findsJournal ? configuration.startJournals : nil
            configuration.startStep = { now in
                guard now == step else { return nil }
                steps.add()
                return steps.value == number ? .unavailable("died in the middle of the starts") : nil
            }
        }
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await dying.run() }
            try await engine.until(
                """
                SELECT count(*) = \(200 * number) AND count(*) FILTER (WHERE state = 'sending') = 200
                    AND (SELECT lease_owner IS NOT NULL FROM start_passes) FROM starts
                """
            )
            while steps.value < number { await Task.yield() }
            if findsJournal {
                // Whoever comes next on this machine need not wait for the claim to run out.
                let next = engine.successor(EngineFixture.Options.starts())
                group.addTask { await next.run() }
            } else {
                // The claim stands for half a minute: the clock goes on.
                _ = try await engine.store.owner(by: EngineFixture.soon, "UPDATE start_passes SET due_at = now()")
                engine.bell.ring()
            }
            try await engine.until("SELECT state = 'done' FROM start_passes")
            group.cancelAll()
        }
        let counts = try await engine.starts()
        #expect(counts["accepted"] == (findsJournal ? 9_500 : 9_300))
        #expect(counts["unknown"] == (findsJournal ? 0 : 200))
        #expect(counts["waiting"] == 0 && counts["sending"] == 0 && counts["given_up"] == 0)
    }

    @Test(
        "10,000 devices, 9,000 of one team and 500 of both: exactly one each, through a crash in the middle",
        arguments: ["recorded", "sent"]
    )
    func crash(at step: String) async throws {
        try await EngineFixture.run(.starts()) { engine in
            try await crash(at: step, findsJournal: true, engine)
            let pushes = await engine.pushes(last: 30_000)
            #expect(pushes.count == 9_500)
            #expect(pushes.values.allSatisfy { $0.count == 1 && $0[0].event == "start" && $0[0].priority == 10 })
            // Who has read a journal takes it away; its own goes at the end of the pass.
            let senders = try await engine.store.owner(by: EngineFixture.soon, "SELECT DISTINCT sender FROM starts")
            let paths = senders.map { "\(NSTemporaryDirectory())/touchline-starts-\($0.text(0))" }
            #expect(paths.count >= 2 && !paths.contains { FileManager.default.fileExists(atPath: $0) })
        }
    }

    @Test(
        "what another machine was about to send at its crash is not sent: at most one each, and those in doubt are counted",
        arguments: ["recorded", "sent"]
    )
    func crashElsewhere(at step: String) async throws {
        try await EngineFixture.run(.starts()) { engine in
            try await crash(at: step, findsJournal: false, engine)
            let pushes = await engine.pushes(last: 30_000)
            #expect(pushes.count == (step == "sent" ? 9_500 : 9_300))
            #expect(pushes.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test(
        "a start whose answer is lost is not sent again; one that is to come later is, and a new token for a dead one"
    )
    func doubtful() async throws {
        try await EngineFixture.run(.starts(dispatches: true)) { engine in
            func fault(_ number: Int, _ what: String) -> String {
                #"{"on":{"token":"\#(TestTokens.token(number))","times":1},"do":\#(what)}"#
            }
            let rules = [
                fault(1, #"{"lost_answer":true}"#),
                fault(2, #"{"status":503,"reason":"ServiceUnavailable","retry_after":"1"}"#),
                fault(3, #"{"status":410,"reason":"Unregistered"}"#),
            ]
            try await engine.simulator.setFaults(#"{"rules":[\#(rules.joined(separator: ","))]}"#)
            try await engine.planStarts()
            for (number, state) in [(1, "unknown"), (2, "accepted"), (3, "refused")] {
                try await engine.put("d\(number)", token: number, ["team:a"])
                try await engine.until(
                    "SELECT EXISTS (SELECT FROM starts WHERE device = 'd\(number)' AND state = '\(state)')"
                )
            }
            try await engine.put("d1", token: 4, ["team:a", "team:b"])
            try await engine.put("d3", token: 5, ["team:a"])
            try await engine.until("SELECT count(*) = 2 FROM starts WHERE state = 'accepted'")
            let starts = await engine.pushes().mapValues(\.count)
            #expect(starts == [TestTokens.token(1): 1, TestTokens.token(2): 1, TestTokens.token(5): 1])
            let counts = try await engine.starts()
            #expect(counts["accepted"] == 2 && counts["unknown"] == 1 && counts["refused"] == 0)
        }
    }

    @Test("late followers are started once, phones with a card and ended matches not")
    func lateOnes() async throws {
        try await EngineFixture.run(.starts(dispatches: true)) { engine in
            try await engine.put("a", token: 1, ["team:a", "team:b"])
            try await engine.planStarts()
            try await engine.until("SELECT state = 'done' FROM start_passes")
            try await engine.put("b", token: 2, ["match:final"])
            try await engine.put("b", token: 2, ["match:final", "team:a"])
            try await engine.put("other", token: 3, ["team:c"])
            try await engine.until("SELECT count(*) = 2 FROM starts WHERE state = 'accepted'")
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "INSERT INTO activities (tenant_id, match_id, activity, environment, cadence, token, device) "
                    + "VALUES ('t_acme', 'final', 'x', 'production', 'standard', 'ab', 'known')"
            )
            try await engine.put("known", token: 4, ["team:a"])
            try await engine.event(1, kind: .end, importance: .key)
            try await engine.put("late", token: 5, ["team:a"])
            try await engine.until("SELECT count(*) = 2 FROM starts")
            let starts = await engine.pushes().mapValues { $0.filter { $0.event == "start" }.count }.filter {
                $0.value > 0
            }
            #expect(starts == [TestTokens.token(1): 1, TestTokens.token(2): 1])
        }
    }

    @Test(
        "a start that was written down by who died before waking the pass is sent, or given up where the match is over"
    )
    func nobodyWoken() async throws {
        try await EngineFixture.run(.starts(dispatches: true)) { engine in
            try await engine.planStarts()
            try await engine.until("SELECT state = 'done' FROM start_passes")
            func leave(_ device: String, _ number: Int) async throws {
                try await engine.put(device, token: number, ["team:none"])
                _ = try await engine.store.owner(
                    by: EngineFixture.soon,
                    """
                    INSERT INTO starts (tenant_id, match_id, device, environment, state, due_at)
                    VALUES ('t_acme', 'final', '\(device)', 'production', 'waiting', now())
                    """
                )
            }
            try await leave("a", 1)
            try await engine.put("a", token: 1, ["team:a"])
            try await engine.until("SELECT state = 'accepted' FROM starts WHERE device = 'a'")
            try await leave("b", 2)
            try await engine.store.lookAfterWaitingStarts(by: EngineFixture.soon)
            engine.bell.ring()
            try await engine.until("SELECT state = 'accepted' FROM starts WHERE device = 'b'")
            try await engine.until("SELECT lease_owner IS NULL FROM start_passes")
            _ = try await engine.value("SELECT touchline_end('t_acme', 'final')::text")
            try await leave("c", 3)
            try await engine.store.lookAfterWaitingStarts(by: EngineFixture.soon)
            #expect(try await engine.value("SELECT state FROM starts WHERE device = 'c'") == "given_up")
            let starts = await engine.pushes().mapValues { $0.filter { $0.event == "start" }.count }
            #expect(starts.filter { $0.value > 0 } == [TestTokens.token(1): 1, TestTokens.token(2): 1])
        }
    }

    @Test("starts that a pause has held come as soon as it ends", arguments: ["match", "app", "tenant"])
    func resumed(what: String) async throws {
        try await EngineFixture.run(.starts(dispatches: true)) { engine in
            try await engine.put("a", token: 1, ["team:a"])
            func pause(_ isPaused: Bool) async throws {
                let body = #"{"paused":\#(isPaused)}"#
                switch what {
                case "match": _ = try await engine.admin().json("PATCH", "/v1/matches/final", body, 200)
                case "app":
                    let path = "/v1/apps/\(EngineFixture.bundle)/production"
                    _ = try await engine.admin().json("PATCH", path, body, 200)
                default:
                    _ = try await engine.store.changeTenant(
                        engine.key.tenant,
                        name: nil,
                        isPaused: isPaused,
                        by: EngineFixture.soon
                    )
                    engine.bell.ring()
                }
            }
            try await pause(true)
            try await engine.planStarts()
            let waits = "SELECT due_at > now() + interval '10 seconds' AND lease_owner IS NULL FROM start_passes"
            try await engine.until(waits)
            let end = ContinuousClock.now + .seconds(8)
            try await pause(false)
            try await engine.until("SELECT count(*) = 1 FROM starts WHERE state = 'accepted'")
            #expect(ContinuousClock.now < end)
        }
    }

    @Test(
        "a pause holds starts; a match that is called off before them starts nobody, and everybody when it is on again"
    )
    func heldAndCancelled() async throws {
        try await EngineFixture.run(.starts(dispatches: true)) { engine in
            let admin = try await engine.admin()
            try await engine.put("a", token: 1, ["team:a"])
            _ = try await admin.json("PATCH", "/v1/matches/final", #"{"paused":true}"#, 200)
            try await engine.planStarts()
            try await engine.until(
                "SELECT state = 'waiting' AND due_at > now() + interval '10 seconds' FROM start_passes"
            )
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                ["UPDATE matches SET status = 'postponed', housekeep_at = now()"]
            )
            try await engine.until("SELECT end_version IS NOT NULL FROM matches")
            _ = try await admin.json("PATCH", "/v1/matches/final", #"{"paused":false}"#, 200)
            try await engine.pass("1 minute")
            engine.bell.ring()
            try await engine.until("SELECT state = 'cancelled' FROM start_passes")
            #expect(try await engine.starts()["accepted"] == 0)

            let again = try await engine.matchBody(inMinutes: 5, #","status":"scheduled""#)
            _ = try await admin.json("PUT", "/v1/matches/final", again, 200)
            try await engine.until("SELECT count(*) = 1 FROM starts WHERE state = 'accepted'")
            #expect(await engine.pushes()[TestTokens.token(1)]?.map(\.event) == ["start"])
        }
    }
}
