import APNsSimulator
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("A season's channels", .database, .timeLimit(.minutes(5)))
struct SeasonTests {
    private var options: EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single', ends_after_silence = 21600"
        (options.dispatches, options.keepsHouse) = (false, false)
        return options
    }

    @Test(
        "two are never made for a match, and none is left, wherever the process dies",
        arguments: ["lease", "list", "listed", "put down", "answered", "opened", "resolved", "deleting", "deleted"]
    )
    func diesOnce(step: String) async throws {
        try await EngineFixture.run(options) { engine in
            // What is in doubt is looked into before its step can be reached.
            let death = Death(at: step == "resolved" ? ["answered", "resolved"] : [step])
            for _ in 0..<4 {
                await engine.keepHouse(death)
                #expect(try await engine.listed().count <= 1)
                try await engine.pass("70 seconds")
            }
            #expect(try await engine.listed() == engine.ledger())
            #expect(try await engine.listed().count == 1)
            _ = try await engine.store.deleteMatch(engine.key, by: EngineFixture.soon)
            for _ in 0..<6 {
                await engine.keepHouse(death)
                try await engine.pass("5 hours")
            }
            #expect(death.deaths >= 1)
            #expect(try await engine.listed().isEmpty)
            #expect(try await engine.ledger().isEmpty)
        }
    }

    /// Puts 380 fixtures, ten every second day from the day after tomorrow, as an import does.
    /// The clock has gone on by `elapsed` seconds since `start`.
    private func importSeason(_ admin: APICaller, start: Int64, elapsed: Int64 = 0, answer: Int) async throws {
        for number in 0..<380 {
            let kickoff = start + (Int64(number / 10) * 2 + 2) * 86_400 + Int64(number % 10) * 1_800 - elapsed
            let body = """
                {"bundle":"\(EngineFixture.bundle)","type":"Score","kickoff_at":"\(Timestamp(seconds: kickoff))",
                 "topics":["team:\(number % 20)"],"content_state":{"home":0}}
                """
            _ = try await admin.json("PUT", "/v1/matches/season%2F\(number)", body, answer)
        }
    }

    @Test(
        "380 fixtures, imported twice: no more channels than the lead allows, and none after the last linger",
        arguments: [1]
    )
    func season(seed: UInt64) async throws {
        try await EngineFixture.run(options) { engine in
            _ = try await engine.store.deleteMatch(engine.key, by: EngineFixture.soon)
            let admin = try await engine.admin()
            let start = try #require(
                Int64(try await engine.value("SELECT extract(epoch FROM now())::bigint::text") ?? "")
            )
            try await importSeason(admin, start: start, answer: 201)
            try await importSeason(admin, start: start, answer: 200)
            #expect(try await engine.value("SELECT count(*)::text FROM channels WHERE match_id <> 'final'") == "380")
            let death = Death(at: [], seed: seed)
            var most = 0
            // Four looks a day for 80 days; two rounds each, since the first may die.
            for step in 0..<(80 * 4) {
                // One answer in twelve is lost, after APNs has done what was asked.
                try await engine.simulator.setFaults(
                    #"{"rules":[{"on":{"route":"manage","share":0.08},"do":{"lost_answer":true}}]}"#
                )
                for _ in 0..<2 { await engine.keepHouse(death) }
                await engine.simulator.clearFaults()
                let (listed, books) = (try await engine.listed(), try await engine.ledger())
                most = max(most, listed.count)
                // APNs has nothing that the books do not know: open, or in doubt.
                #expect(listed.count <= books.count)
                let allowed = try await engine.value(
                    """
                    SELECT count(*)::text FROM matches
                    WHERE kickoff_at BETWEEN now() - interval '36 hours' AND now() + interval '24 hours'
                    """
                )
                #expect(listed.count <= Int(allowed ?? "") ?? 0)
                let early = try await engine.value(
                    """
                    SELECT count(*)::text FROM channels JOIN matches USING (tenant_id, match_id)
                    WHERE kickoff_at > now() + interval '24 hours'
                      AND (channel_id IS NOT NULL OR creating_at IS NOT NULL)
                    """
                )
                #expect(early == "0")
                // In the middle of it somebody imports the file once more.
                if step == 100 { try await importSeason(admin, start: start, elapsed: 100 * 21_600, answer: 200) }
                try await engine.pass("6 hours")
            }
            for _ in 0..<6 {
                await engine.keepHouse()
                try await engine.pass("6 hours")
            }
            #expect(most >= 8)
            #expect(death.deaths > 20)
            #expect(try await engine.value("SELECT count(*)::text FROM matches WHERE end_version IS NULL") == "0")
            #expect(try await engine.listed().isEmpty)
            #expect(try await engine.ledger().isEmpty)
            #expect(try await engine.value("SELECT count(*)::text FROM channel_ids WHERE gone_at IS NULL") == "0")
        }
    }
}
