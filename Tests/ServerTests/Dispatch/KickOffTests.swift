import APNsProtocol
import APNsSimulator
import Core
import HTTP2
import Server
import Store
import TestSupport
import Testing

/// From devices to started cards and the first goal, by the API alone.
@Suite("A kick-off", .database, .timeLimit(.minutes(5)))
struct KickOffTests {
    /// Devices by their push-to-start tokens: 1 and 2 support channels, 3 and 4 do not; 5 shows the match, 6 has an activity
    /// of it, 7 follows another team.
    private func putDevices(_ admin: APICaller, _ engine: EngineFixture) async throws {
        let lines = (1...7).map { number in
            let topics = number == 7 ? #"["team:c"]"# : number == 1 ? #"["team:a","team:b"]"# : #"["team:b"]"#
            let showing = number == 5 ? #","showing":["final"]"# : ""
            return """
                {"device":"d\(number)","environment":"production","push_to_start_token":"\(TestTokens.token(number))",\
                "supports_channels":\(number < 3),"frequent_pushes_enabled":true,"topics":\(topics)\(showing)}
                """
        }
        let response = await admin.send("POST", "/v1/devices", lines.joined(separator: "\n"))
        let answers = String(decoding: response.body, as: UTF8.self).split(separator: "\n")
        #expect(answers.count == 7 && answers.allSatisfy { $0.hasSuffix(#""status":"stored"}"#) }, "\(answers)")
        try await join(admin, device: 6, token: 106)
    }

    private func join(_ admin: APICaller, device: Int, token: Int) async throws {
        let body = """
            {"token":"\(TestTokens.token(token))","environment":"production","frequent_pushes_enabled":true,
             "device":"d\(device)","version":0}
            """
        _ = try await admin.json("PUT", "/v1/matches/final/activities/card-\(device)", body, 200)
    }

    @Test("by the clock, at the app's lead: each follower once, by channel or token and never both, and then the goal")
    func byTheClock() async throws {
        try await EngineFixture.run(.starts(channels: "single", dispatches: true)) { engine in
            let admin = try await engine.admin()
            _ = try await admin.json("PUT", "/v1/matches/final", try await engine.matchBody(inMinutes: 180), 200)
            try await putDevices(admin, engine)
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.pass("169 minutes")
            engine.bell.ring()
            #expect(try await engine.value("SELECT due_at > now() FROM start_passes") == "t")
            try await engine.pass("2 minutes")
            engine.bell.ring()
            try await engine.until("SELECT state = 'done' FROM start_passes")
            #expect(try await engine.starts()["accepted"] == 4)

            let channel = try #require(try await engine.value("SELECT channel_id FROM channels"))
            let requests = await engine.simulator.requests().filter { $0.path.hasPrefix("/3/device") }
            #expect(Set(requests.map(\.path)) == Set((1...4).map { "/3/device/\(TestTokens.token($0))" }))
            #expect(requests.count == 4)
            for request in requests {
                let body = String(decoding: request.body, as: UTF8.self)
                let isOnChannel = (1...2).contains { request.path.hasSuffix(TestTokens.token($0)) }
                #expect(body.contains(#""input-push-channel":"\#(channel)""#) == isOnChannel)
                #expect(!body.contains("input-push-token"))
                #expect(
                    body.contains(#""event":"start""#) && body.contains(#""alert":{"title":"Kick-off","body":"Soon"}"#)
                )
                #expect(body.contains(#""attributes-type":"Score","attributes":{"name":"final"}"#))
                #expect(request.headers["apns-collapse-id"]?.hasPrefix("start-") == true)
                #expect(request.headers["apns-priority"] == "10")
                let lasts = (Int64(request.headers["apns-expiration"] ?? "") ?? 0) - engine.simulator.clock()
                #expect((1...600).contains(lasts))
            }

            // The phones that are not on the channel hand in update tokens.
            try await join(admin, device: 3, token: 103)
            try await join(admin, device: 4, token: 104)
            let counts = try await engine.starts()
            #expect(counts["joined"] == 2 && counts["accepted"] == 4)
            try await engine.event(1, importance: .key, alert: "Goal!")
            try await engine.untilSettled()
            let goals = await engine.pushes().mapValues { $0.filter { $0.event == "update" } }.filter {
                !$0.value.isEmpty
            }
            #expect(Set(goals.keys) == Set([channel] + [103, 104, 106].map { TestTokens.token($0) }))
            #expect(goals.values.allSatisfy { $0.count == 1 && $0[0].home == 1 && $0[0].alert == "Goal!" })
            // Nobody whose card is on the channel has an activity of its own.
            #expect(
                try await engine.value(
                    "SELECT count(*)::text FROM activities WHERE device IN ('d1', 'd2', 'd5', 'd7')"
                ) == "0"
            )
        }
    }

    /// The bodies of starts that went to phones 1 and 2, which support channels.
    private func channelStarts(_ engine: EngineFixture) async -> [String] {
        await engine.simulator.requests().filter { request in
            (1...2).contains { request.path.hasSuffix(TestTokens.token($0)) }
        }.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("a match that comes within its lead waits for its channel, which is asked for at the same moment")
    func waitsForChannel() async throws {
        try await EngineFixture.run(.starts(channels: "single", dispatches: true)) { engine in
            let admin = try await engine.admin()
            try await putDevices(admin, engine)
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage"},"do":{"delay_ms":700}}]}"#
            )
            _ = try await admin.json("PUT", "/v1/matches/final", try await engine.matchBody(inMinutes: 5), 200)
            try await engine.until("SELECT state = 'done' FROM start_passes")
            let channel = try #require(try await engine.value("SELECT channel_id FROM channels"))
            let bodies = await channelStarts(engine)
            #expect(bodies.count == 2)
            #expect(bodies.allSatisfy { $0.contains(#""input-push-channel":"\#(channel)""#) })
        }
    }

    @Test("that is started before its app's channel lead has its channel made for it")
    func startsBeforeChannels() async throws {
        var options = EngineFixture.Options.starts(channels: "single", dispatches: true)
        options.app = "UPDATE apps SET channels = 'single', tokens = false, channel_lead = 60, start_lead = 600"
        try await EngineFixture.run(options) { engine in
            let admin = try await engine.admin()
            let lines = (1...2).map { number in
                """
                {"device":"d\(number)","environment":"production","push_to_start_token":"\(TestTokens.token(number))",\
                "supports_channels":true,"topics":["team:a"]}
                """
            }
            #expect(await admin.send("POST", "/v1/devices", lines.joined(separator: "\n")).status == 200)
            let body = try await engine.matchBody(inMinutes: 5, #","content_state":{"home":0}"#)
            _ = try await admin.json("PUT", "/v1/matches/soon", body, 201)
            try await engine.until("SELECT state = 'done' FROM start_passes")
            let channel = try #require(
                try await engine.value("SELECT channel_id FROM channels WHERE match_id = 'soon'")
            )
            let bodies = await channelStarts(engine)
            #expect(bodies.count == 2)
            #expect(bodies.allSatisfy { $0.contains(#""input-push-channel":"\#(channel)""#) })
        }
    }

    @Test(
        "on command long before the lead the channel is made first; one that does not come is not waited for for ever"
    )
    func makesChannel() async throws {
        try await EngineFixture.run(.starts(channels: "single", dispatches: true)) { engine in
            let admin = try await engine.admin()
            try await putDevices(admin, engine)
            try await engine.simulator.setFaults(
                #"{"rules":[{"on":{"route":"manage"},"do":{"status":503,"reason":"ServiceUnavailable","retry_after":"1"}}]}"#
            )
            let body = try await engine.matchBody(inMinutes: 6_000, #","content_state":{"home":0}"#)
            _ = try await admin.json("PUT", "/v1/matches/later", body, 201)
            #expect(
                try await engine.value(
                    "SELECT next_at > now() + interval '1 day' FROM channels WHERE match_id = 'later'"
                ) == "t"
            )
            _ = try await admin.json("POST", "/v1/matches/later/starts", 200)
            try await engine.until("SELECT began_at IS NOT NULL FROM start_passes")
            try await engine.until("SELECT last_error IS NOT NULL FROM channels WHERE match_id = 'later'")
            #expect(await channelStarts(engine).isEmpty)
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE start_passes SET began_at = began_at - interval '3 minutes'"
            )
            try await engine.until("SELECT state = 'done' FROM start_passes")
            let bodies = await channelStarts(engine)
            #expect(bodies.count == 2 && bodies.allSatisfy { $0.contains(#""input-push-token":1"#) })
        }
    }

    @Test("at the match's own lead, and at the app's as it is now: another lead, or an app that came later")
    func leads() async throws {
        var options = EngineFixture.Options.starts()
        options.keepsHouse = false
        try await EngineFixture.run(options) { engine in
            let admin = try await engine.admin()
            func lead(_ match: String) async throws -> String? {
                try await engine.value(
                    """
                    SELECT string_agg(extract(epoch FROM m.kickoff_at - p.due_at)::bigint::text, ' ' ORDER BY environment)
                    FROM start_passes p JOIN matches m USING (tenant_id, match_id) WHERE match_id = '\(match)'
                    """
                )
            }
            let body = try await engine.matchBody(inMinutes: 180, #","content_state":{"home":0}"#)
            let own = body.replacing(#"Soon"}}"#, with: #"Soon"},"lead":1234}"#)
            _ = try await admin.json("PUT", "/v1/matches/app", body, 201)
            let shown = try await admin.json("PUT", "/v1/matches/own", own, 201)
            #expect(shown["start"]["lead"].raw == "1234")
            #expect(try await lead("app") == "600")
            #expect(try await lead("own") == "1234")
            let app = "/v1/apps/\(EngineFixture.bundle)/production"
            _ = try await admin.json("PATCH", app, #"{"start_lead":60}"#, 200)
            #expect(try await lead("app") == "60")
            #expect(try await lead("own") == "1234")
            // Whoever puts the match without a lead goes by the app's again.
            _ = try await admin.json("PUT", "/v1/matches/own", body, 200)
            #expect(try await lead("own") == "60")
            let bad = body.replacing(#"{"alert":{"title":"Kick-off","body":"Soon"}}"#, with: #"{"lead":60}"#)
            try await admin.problem("PUT", "/v1/matches/bad", bad, .invalidField, field: "start.alert")
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                """
                INSERT INTO apps SELECT (jsonb_populate_record(a, '{"environment":"sandbox","credential_id":77}')).*
                FROM apps a
                """
            )
            _ = try await admin.json(
                "PATCH",
                "/v1/apps/\(EngineFixture.bundle)/sandbox",
                #"{"start_lead":120}"#,
                200
            )
            #expect(try await lead("app") == "60 120")
        }
    }

    @Test("on command, before the app's lead; a phone that supports channels asks for a token where there is none")
    func onCommand() async throws {
        try await EngineFixture.run(.starts(dispatches: true)) { engine in
            let admin = try await engine.admin()
            try await admin.problem("POST", "/v1/matches/final/starts", .conflict, field: "alert")
            _ = try await admin.json("PUT", "/v1/matches/final", try await engine.matchBody(inMinutes: 600), 200)
            try await putDevices(admin, engine)
            _ = try await admin.json("POST", "/v1/matches/final/starts", 200)
            try await engine.until("SELECT count(*) = 4 FROM starts WHERE state = 'accepted'")
            for request in await engine.simulator.requests() where request.path.hasPrefix("/3/device") {
                let body = String(decoding: request.body, as: UTF8.self)
                let isNew = (1...2).contains { request.path.hasSuffix(TestTokens.token($0)) }
                #expect(body.contains(#""input-push-token":1"#) == isNew)
                #expect(!body.contains("input-push-channel"))
            }
            // Again, with words of its own: nobody is started twice, and who follows late is started with them.
            _ = try await admin.json("POST", "/v1/matches/final/starts", #"{"alert":{"title":"Now","body":"x"}}"#, 200)
            try await engine.put("late", token: 8, ["team:a"])
            try await engine.until("SELECT count(*) = 5 FROM starts WHERE state = 'accepted'")
            let pushes = await engine.pushes()
            #expect(pushes.count == 5 && pushes.values.allSatisfy { $0.count == 1 })
            #expect(pushes[TestTokens.token(8)]?.first?.alert == "Now")
            let devices = try await admin.json("GET", "/v1/devices?limit=3", 200)
            #expect(devices["items"].elements.map { $0["device"].text } == ["d1", "d2", "d3"])
            #expect(devices["items"].elements[0]["has_token"].raw == "true")
        }
    }

    @Test("an app that reaches nobody by token starts only phones that can listen on the channel")
    func withoutTokens() async throws {
        var options = EngineFixture.Options.starts(channels: "single", dispatches: true)
        options.app += ", tokens = false"
        try await EngineFixture.run(options) { engine in
            try await engine.until("SELECT state = 'open' FROM channels")
            try await engine.put("new", token: 1, ["team:a"], channels: true)
            try await engine.put("old", token: 2, ["team:a"])
            try await engine.planStarts()
            try await engine.until("SELECT state = 'done' FROM start_passes")
            let counts = try await engine.starts()
            #expect(counts["accepted"] == 1 && counts["given_up"] == 1)
            #expect(await engine.pushes().keys.sorted() == [TestTokens.token(1)])
        }
    }
}
