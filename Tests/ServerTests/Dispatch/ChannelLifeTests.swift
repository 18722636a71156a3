import APNsProtocol
import APNsSimulator
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("A channel's life", .database, .timeLimit(.minutes(5)))
struct ChannelLifeTests {
    private var options: EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'single'"
        (options.dispatches, options.keepsHouse) = (false, false)
        return options
    }

    /// Puts the fixture's match, `days` ahead.
    private func put(_ admin: APICaller, inDays days: Int, _ status: String?, _ engine: EngineFixture) async throws {
        let kickoff = try await engine.value("SELECT extract(epoch FROM now() + interval '\(days) days')::bigint::text")
        let time = Timestamp(seconds: try #require(Int64(kickoff ?? "")))
        let more = status.map { #","status":"\#($0)""# } ?? ""
        _ = try await admin.json(
            "PUT",
            "/v1/matches/final",
            #"{"bundle":"\#(EngineFixture.bundle)","type":"Score","kickoff_at":"\#(time)"\#(more)}"#,
            200
        )
    }

    private func goOn(_ engine: EngineFixture, _ times: Int, _ step: String) async throws {
        for _ in 0..<times {
            await engine.keepHouse()
            try await engine.pass(step)
        }
    }

    @Test("a creation whose answer was lost is found in APNs' list, and is the match's")
    func lostAnswer() async throws {
        try await EngineFixture.run(options) { engine in
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage","skip":1,"times":1},"do":{"lost_answer":true}}]}"#
            )
            await engine.keepHouse()
            #expect(try await engine.ledger() == ["in doubt"])
            let made = try await engine.listed()
            #expect(made.count == 1)
            await engine.keepHouse()
            #expect(
                try await engine.value("SELECT last_error LIKE '%list is looked through%' FROM channels") == "t"
            )
            try await engine.pass("40 seconds")
            await engine.keepHouse()
            #expect(try await engine.ledger() == made)
            #expect(try await engine.listed() == made)
        }
    }

    @Test(
        "a channel in doubt that cannot be read is neither forgotten nor made twice",
        arguments: [#"{"lost_answer":true}"#, #"{"status":503,"reason":"ServiceUnavailable"}"#]
    )
    func lostRead(fault: String) async throws {
        try await EngineFixture.run(options) { engine in
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage","skip":1,"times":1},"do":{"lost_answer":true}}]}"#
            )
            await engine.keepHouse()
            let made = try await engine.listed()
            #expect(made.count == 1)
            // The list comes, and the answer to whose policy it is does not.
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage","skip":1,"times":1},"do":\#(fault)}]}"#
            )
            try await engine.pass("40 seconds")
            await engine.keepHouse()
            #expect(try await engine.ledger() == ["in doubt"])
            for _ in 0..<2 {
                try await engine.pass("40 seconds")
                await engine.keepHouse()
            }
            #expect(try await engine.ledger() == made)
            #expect(try await engine.listed() == made)
        }
    }

    @Test("an answer of 500 may hide a creation: it is looked for, and made once")
    func hiddenCreation() async throws {
        try await EngineFixture.run(options) { engine in
            let fault = #"{"status":500,"reason":"InternalServerError"}"#
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage","skip":1,"times":1},"do":\#(fault)}]}"#
            )
            await engine.keepHouse()
            #expect(try await engine.ledger() == ["in doubt"])
            for _ in 0..<2 {
                try await engine.pass("40 seconds")
                await engine.keepHouse()
            }
            #expect(try await engine.listed() == engine.ledger())
            #expect(try await engine.listed().count == 1)
        }
    }

    @Test("what another tenant of the same bundle has made meanwhile is not taken for a lost answer's")
    func otherTenants() async throws {
        try await EngineFixture.run(options) { engine in
            let fault = #"{"status":500,"reason":"InternalServerError"}"#
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage","skip":1,"times":1},"do":\#(fault)}]}"#
            )
            await engine.keepHouse()
            #expect(try await engine.ledger() == ["in doubt"])
            let record = try #require(try await engine.store.channels(of: engine.key, by: EngineFixture.soon).first)
            let answer = try await engine.ask(.create(record.bundle, record.storagePolicy))
            guard case .created(let others) = answer else {
                Issue.record("not created: \(answer)")
                return
            }
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                """
                INSERT INTO channel_ids (tenant_id, bundle, environment, channel_id, match_id, cadence)
                VALUES ('t_other', $1, 'production', $2, 'final', 'standard')
                """,
                [.text(EngineFixture.bundle), .text(others.text)]
            )
            for _ in 0..<2 {
                try await engine.pass("40 seconds")
                await engine.keepHouse()
            }
            let own = try await engine.ledger()
            #expect(own.count == 1 && own != [others.text])
            #expect(try await engine.listed() == (own + [others.text]).sorted())
        }
    }

    @Test("one tenant after the other makes the channels of a bundle that they share")
    func takesTurns() async throws {
        try await EngineFixture.run(options) { engine in
            let store = engine.store
            let record = try #require(try await store.channels(of: engine.key, by: EngineFixture.soon).first)
            let other = AppKey(
                tenant: try #require(TenantID(validating: "t_other")),
                bundle: record.bundle,
                environment: record.environment
            )
            func begin(_ app: AppKey, _ owner: String) async throws -> ChannelMakerLease? {
                try await store.beginMaking(app, owner: owner, lease: .seconds(60), by: EngineFixture.soon)
            }
            let lease = try #require(try await begin(record.app, "one t_acme"))
            #expect(try await begin(other, "one t_other") == nil)
            try await store.endMaking(lease, by: EngineFixture.soon)
            #expect(try await begin(other, "one t_other") != nil)
        }
    }

    @Test("a channel that comes when its match has another already is nobody's, and in the books")
    func tooLate() async throws {
        try await EngineFixture.run(options) { engine in
            await engine.keepHouse()
            let first = try await engine.listed()
            let record = try #require(try await engine.store.channels(of: engine.key, by: EngineFixture.soon).first)
            let other = try #require(ChannelID(validating: "q83vEjRWeJA="))
            #expect(try await !engine.store.channelOpened(record, as: other, by: EngineFixture.soon))
            #expect(try await engine.ledger() == first)
            #expect(try await engine.value("SELECT count(*)::text FROM channel_ids WHERE gone_at IS NULL") == "2")
        }
    }

    @Test("a postponed match keeps its channel until it would have been over on its new day")
    func postponed() async throws {
        try await EngineFixture.run(options) { engine in
            let admin = try await engine.admin()
            await engine.keepHouse()
            let made = try await engine.listed()
            #expect(made.count == 1)
            try await put(admin, inDays: 3, "postponed", engine)
            try await goOn(engine, 12, "4 hours")
            #expect(try await engine.value("SELECT end_version IS NOT NULL FROM matches") == "t")
            #expect(try await engine.listed() == made)
            // Put off once more, without saying so again; then it is to be played.
            try await put(admin, inDays: 9, nil, engine)
            try await goOn(engine, 12, "12 hours")
            #expect(try await engine.listed() == made)
            try await put(admin, inDays: 1, "scheduled", engine)
            #expect(try await engine.value("SELECT status || version::text FROM matches") == "scheduled2")
            await engine.keepHouse()
            #expect(try await engine.ledger() == made)
            try await engine.event(1)
            // Called off for good: it goes after its linger.
            try await put(admin, inDays: 0, "abandoned", engine)
            try await goOn(engine, 12, "1 hour")
            #expect(try await engine.listed().isEmpty)
            #expect(try await engine.ledger().isEmpty)
        }
    }

    @Test(
        "a match put on another day keeps the channel that it has; one that is still to be made waits for its new day"
    )
    func movedDay() async throws {
        try await EngineFixture.run(options) { engine in
            let admin = try await engine.admin()
            await engine.keepHouse()
            let made = try await engine.listed()
            try await put(admin, inDays: 7, nil, engine)
            try await goOn(engine, 10, "12 hours")
            #expect(try await engine.listed() == made)
            #expect(try await engine.value("SELECT end_version IS NULL FROM matches") == "t")
            _ = try await engine.store.owner(by: EngineFixture.soon, "UPDATE apps SET channel_lead = 3600")
            let later = try await engine.matchBody(inMinutes: 600, #","content_state":{"home":0}"#)
            _ = try await admin.json("PUT", "/v1/matches/later", later, 201)
            let muchLater = try await engine.matchBody(inMinutes: 6_000)
            _ = try await admin.json("PUT", "/v1/matches/later", muchLater, 200)
            try await goOn(engine, 8, "12 hours")
            #expect(try await engine.value("SELECT state FROM channels WHERE match_id = 'later'") == "pending")
            try await engine.pass("4 hours")
            await engine.keepHouse()
            #expect(try await engine.value("SELECT state FROM channels WHERE match_id = 'later'") == "open")
        }
    }

    @Test("a postponed match that nobody puts on again leaves no channel")
    func forgotten() async throws {
        try await EngineFixture.run(options) { engine in
            await engine.keepHouse()
            try await put(try await engine.admin(), inDays: 1, "postponed", engine)
            try await goOn(engine, 12, "4 hours")
            #expect(try await engine.listed().isEmpty)
            #expect(try await engine.ledger().isEmpty)
        }
    }

    @Test(
        "what APNs refuses comes with what to do",
        arguments: [
            ("CannotCreateChannelConfig", "touchline channel audit"),
            ("BroadcastFeatureNotEnabled", "switch Broadcast on"), ("FeatureNotEnabled", "switch Broadcast on"),
        ]
    )
    func advice(reason: String, advice: String) async throws {
        try await EngineFixture.run(options) { engine in
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage","skip":1},"do":{"status":400,"reason":"\#(reason)"}}]}"#
            )
            await engine.keepHouse()
            let admin = try await engine.admin()
            let channel = try #require(try await admin.json("GET", "/v1/channels", 200)["items"].elements.first)
            #expect(channel["state"].text == "pending")
            let error = channel["last_error"].text
            #expect(error.contains(reason) && error.contains(advice), "\(error)")
            let app = try #require(try await admin.json("GET", "/v1/apps", 200)["items"].elements.first)
            let isStopped = app["stopped"]["channels"].optionalText?.contains(advice) ?? false
            // At the limit the others' channels go on.
            #expect(isStopped == (reason != "CannotCreateChannelConfig"))
        }
    }
}
