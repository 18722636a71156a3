import Testing

@testable import APNsSimulator

@Suite("Scripted faults")
struct FaultRulesTests {
    private func rules(_ text: String) throws -> FaultRules {
        FaultRules(try FaultRules.parse(JSONTextParser.parse(Array(text.utf8))), generator: SeededGenerator(seed: 7))
    }

    private func device(_ token: String = "ab") -> FaultRules.Subject {
        FaultRules.Subject(route: .device, token: token, channel: nil)
    }

    @Test("route and token choose, times ends")
    func choose() throws {
        var rules = try rules(
            #"{"rules":[{"on":{"route":"device","token":"AB","times":2},"do":{"status":410,"reason":"Unregistered","timestamp":5}}]}"#
        )
        let answer = FaultAction.answer(Rejection(410, "Unregistered", timestampMilliseconds: 5))
        #expect(rules.effects(on: device("cd")).settling == nil)
        #expect(rules.effects(on: .init(route: .broadcast, token: nil, channel: "x")).settling == nil)
        #expect(rules.effects(on: device("Ab")).settling == answer)
        #expect(rules.effects(on: device()).settling == answer)
        #expect(rules.effects(on: device()).settling == nil)
    }

    @Test("a share of the requests, the same with the same seed")
    func share() throws {
        var rules = try rules(#"{"rules":[{"on":{"share":0.25},"do":{"reset":"REFUSED_STREAM"}}]}"#)
        let hits = (0..<10_000).count { _ in rules.effects(on: device()).settling == .reset(7) }
        #expect((2300...2700).contains(hits))
    }

    @Test("delays add up, the first rule that settles wins, the others go on counting")
    func combine() throws {
        var rules = try rules(
            #"""
            {"rules":[{"do":{"delay_ms":300}},{"do":{"delay_ms":200}},{"do":{"stream_limit":1}},
             {"on":{"times":1},"do":{"silence":true}},{"do":{"close":true}},
             {"do":{"goaway":{"after_streams":50,"last_stream":21,"debug":"x","code":7}}}]}
            """#
        )
        let first = rules.effects(on: device())
        #expect(first.delay == .milliseconds(500))
        #expect(first.streamLimit?.limit == 1)
        #expect(first.settling == .silence)
        #expect(first.goAway?.fault == GoAwayFault(afterStreams: 50, lastStream: 21, debug: "x", code: 7))
        #expect(rules.effects(on: device()).settling == .close)
    }

    @Test("skip lets requests pass first")
    func skip() throws {
        var rules = try rules(#"{"rules":[{"on":{"skip":2},"do":{"status":503,"retry_after":7}}]}"#)
        #expect((0..<4).map { _ in rules.effects(on: device()).settling != nil } == [false, false, true, true])
        #expect(rules.effects(on: device()).settling == .answer(Rejection(503, "", retryAfter: "7")))
    }

    @Test(
        "bad rules are refused with the field",
        arguments: [
            (#"{"rule":[]}"#, "rule"), (#"{"rules":{}}"#, "rules"), (#"{"rules":[{}]}"#, "rules[0].do"),
            (#"{"rules":[{"do":{}}]}"#, "rules[0].do"), (#"{"rules":[{"do":{"status":200}}]}"#, "rules[0].do.status"),
            (#"{"rules":[{"do":{"reset":"NOPE"}}]}"#, "rules[0].do.reset"),
            (#"{"rules":[{"do":{"close":false}}]}"#, "rules[0].do.close"),
            (#"{"rules":[{"do":{"close":true,"silence":true}}]}"#, "rules[0].do"),
            (#"{"rules":[{"on":{"route":"push"},"do":{"close":true}}]}"#, "rules[0].on.route"),
            (#"{"rules":[{"on":{"share":2},"do":{"close":true}}]}"#, "rules[0].on.share"),
            (#"{"rules":[{"on":{"times":-1},"do":{"close":true}}]}"#, "rules[0].on.times"),
            (#"{"rules":[{"do":{"goaway":{"after":1}}}]}"#, "rules[0].do.goaway.after"),
            (#"{"rules":[{"do":{"delay_ms":"1"}}]}"#, "rules[0].do.delay_ms"),
        ]
    )
    func refusals(text: String, field: String) throws {
        let json = try JSONTextParser.parse(Array(text.utf8))
        do throws(ControlError) {
            _ = try FaultRules.parse(json)
            Issue.record("taken")
        } catch { #expect(error.field == field) }
    }
}
