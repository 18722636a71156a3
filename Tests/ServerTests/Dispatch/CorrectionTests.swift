import APNsSimulator
import Core
import Server
import TestSupport
import Testing

@Suite("A goal taken back", .database, .timeLimit(.minutes(5)))
struct CorrectionTests {
    /// Posts an event of the feed's order by the API, and expects it to be accepted.
    private func post(_ admin: APICaller, _ event: String, _ engine: EngineFixture) async throws {
        let answer = try await admin.json("POST", "/v1/matches/final/events", event, 202)
        #expect(answer["status"].text == "accepted")
        engine.bell.ring()
    }

    @Test("every phone, on channel and token, shows the corrected score within one push", arguments: [0, 1])
    func corrected(storagePolicy: Int) async throws {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = 'by_cadence', storage_policy = \(storagePolicy)"
        options.pageSize = 50
        try await EngineFixture.run(options) { engine in
            let admin = try await engine.admin()
            try await engine.register(1...150)
            try await engine.register(151...300, frequent: false)
            try await engine.until("SELECT count(*) = 2 FROM channels WHERE state = 'open'")
            let channels = try await engine.listed()
            for channel in channels {
                try await engine.simulator.addPhones(
                    #"{"environment":"production","phones":[{"channel":"\#(channel)","count":500}]}"#
                )
            }
            try await post(
                admin,
                #"{"id":"a","sequence":20,"importance":"key","content_state":{"home":1},"alert":{"title":"Goal!","body":"1–0"}}"#,
                engine
            )
            try await engine.untilSettled()
            for channel in channels {
                #expect(await engine.simulator.shown(onChannel: channel) == [#"{"home":1}"#: 500])
            }
            let before = await engine.pushes()
            #expect(before.count == 302 && before.values.allSatisfy { $0.last?.home == 1 })

            // The feed takes it back under a lower number: an update would be superseded.
            let late = #"{"id":"b","sequence":19,"content_state":{"home":0}}"#
            #expect(try await admin.json("POST", "/v1/matches/final/events", late, 200)["status"].text == "superseded")
            try await post(admin, #"{"id":"c","sequence":19,"kind":"correction","content_state":{"home":0}}"#, engine)
            try await engine.untilSettled()
            let after = await engine.pushes()
            #expect(after.count == 302)
            for (recipient, pushes) in after {
                let more = pushes.dropFirst(before[recipient]?.count ?? 0)
                // At once, whatever the gaps between routine updates.
                #expect(more.count == 1 && more.last?.home == 0 && more.last?.priority == 10)
                #expect(more.last?.alert == nil)
            }
            for channel in channels {
                #expect(await engine.simulator.shown(onChannel: channel) == [#"{"home":0}"#: 500])
            }
            for number in 1...300 {
                #expect(await engine.shown(on: number) == #"{"home":0}"#)
            }
        }
    }
}
