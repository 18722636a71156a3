import Testing

@testable import APNsSimulator

@Suite("A lean listener told to misbehave")
struct LeanFaultTests {
    private typealias Bench = LeanBench

    /// The mix that a long run of the sender has to survive.
    static let mix = #"""
        {"rules":[{"on":{"share":0.01},"do":{"status":429,"reason":"TooManyRequests"}},
         {"on":{"share":0.01},"do":{"status":500,"reason":"InternalServerError"}},
         {"on":{"share":0.01},"do":{"status":503,"reason":"ServiceUnavailable"}},
         {"on":{"share":0.01},"do":{"status":410,"reason":"Unregistered"}},
         {"on":{"share":0.005},"do":{"status":400,"reason":"BadDeviceToken"}},
         {"on":{"share":0.005},"do":{"reset":"REFUSED_STREAM"}},
         {"on":{"every":10000},"do":{"goaway":{"after_streams":1}}},
         {"on":{"every":10000},"do":{"silence":true}},
         {"on":{"every":10000},"do":{"close":true}},
         {"on":{"every":10000},"do":{"stream_limit":1}}]}
        """#

    /// A little more than twenty times the distance of the rare faults, some of which have to wait for their neighbours.
    private static let pushes = 200_010

    @Test("sums add up exactly under every fault at once, and the same seed gives the same run")
    func sums() throws {
        var runs: [SimulatorCounts] = []
        for _ in 0..<2 {
            let service = try Bench.SimulatedFaults(Self.mix)
            var sent = 0
            while sent < Self.pushes {
                let bench = Bench(service)
                bench.begin()
                var stream = 1
                while bench.session.state == .open, !bench.session.isDeaf, sent < Self.pushes {
                    bench.feed(Bench.push(stream, bodies: [1]))
                    stream += 2
                    sent += 1
                }
            }
            runs.append(service.counts)
        }
        let counts = runs[0]
        #expect(runs[0] == runs[1])
        #expect(counts.arrived == Self.pushes)
        let (answers, resets) = (counts.answers.values.reduce(0, +), counts.resets.values.reduce(0, +))
        #expect(answers + resets + counts.unanswered.values.reduce(0, +) == counts.arrived)
        #expect(counts.requests["device"] == answers)
        #expect([counts.goAways, counts.silences, counts.closes] == [20, 20, 20])
        #expect((1800...2200).contains(counts.answers["410 Unregistered"] ?? 0))
        #expect((850...1150).contains(resets))
    }

    @Test("GOAWAY leaves streams above unanswered and counts them; the connection ends with the last below")
    func goAway() throws {
        let service = try Bench.SimulatedFaults(
            #"{"rules":[{"on":{"skip":1,"times":1},"do":{"goaway":{"last_stream":3,"code":2,"debug":"{}","two_steps":true}}}]}"#
        )
        let bench = Bench(service)
        bench.begin()
        let heads = [1, 3, 5, 7].flatMap { Bench.frame(1, flags: 4, stream: $0, [0x83]) }
        bench.feed(heads)
        #expect(bench.feed(Bench.frame(0, flags: 1, stream: 1)) == ["HEADERS 1 200 end"])
        #expect(
            bench.feed(Bench.frame(0, flags: 1, stream: 5)) == [
                "GOAWAY \(Int32.max) code 2 ", "GOAWAY 3 code 2 {}",
            ]
        )
        #expect(bench.session.state == .draining)
        #expect(bench.feed(Bench.push(9) + Bench.frame(0, flags: 1, stream: 3)) == ["HEADERS 3 200 end"])
        #expect(bench.session.state == .over)
        #expect(service.counts.unanswered["goaway"] == 3)
        #expect(service.counts.arrived == 5)
    }

    @Test("each other fault is what it says")
    func each() throws {
        let cases: [(String, [String])] = [
            (#"{"reset":"CANCEL"}"#, ["RESET 1 8"]), (#"{"silence":true}"#, []),
            (#"{"half_answer":true}"#, ["HEADERS 1 500", "DATA 1 4"]),
            (#"{"unknown_frame":true}"#, ["frame 250", "HEADERS 1 200 end"]),
            (#"{"push_promise":true}"#, ["frame 5", "HEADERS 1 200 end"]),
            (#"{"date_offset":-3600}"#, ["HEADERS 1 200 end"]),
            (#"{"stream_limit":1,"for_ms":5}"#, ["SETTINGS", "HEADERS 1 200 end"]),
            (#"{"status":429,"header_bytes":20000}"#, ["HEADERS 1 429 end", "frame 9", "SETTINGS"]),
            (
                #"{"status":500,"body_bytes":65536}"#,
                ["HEADERS 1 500"] + Array(repeating: "DATA 1 16384", count: 3) + ["DATA 1 16383"]
            ),
        ]
        for (action, expected) in cases {
            let bench = Bench(try Bench.SimulatedFaults(#"{"rules":[{"do":\#(action)}]}"#))
            bench.begin()
            #expect(bench.feed(Bench.push(1)) == expected, "\(action)")
        }
    }

    @Test("a mute connection acknowledges PINGs, and answers no push")
    func mute() throws {
        let bench = Bench(try Bench.SimulatedFaults(#"{"rules":[{"on":{"times":1},"do":{"mute":true}}]}"#))
        bench.begin()
        #expect(bench.feed(Bench.push(1) + Bench.push(3)) == [])
        #expect(bench.feed(Bench.frame(6, stream: 0, Array(repeating: 7, count: 8))) == ["PING ack"])
        #expect(bench.service.counts.unanswered["mute"] == 2)
    }

    @Test("a delayed push is answered when its time has come, unless the client gave it up")
    func delay() throws {
        let service = try Bench.SimulatedFaults(#"{"rules":[{"do":{"delay_ms":200,"jitter_ms":100}}]}"#)
        let bench = Bench(service)
        bench.begin()
        #expect(bench.feed(Bench.push(1) + Bench.push(3)).isEmpty)
        #expect(bench.session.wishes.count == 2)
        bench.feed(Bench.frame(3, stream: 3, Bench.number(8)))
        for case .settle(let stream, let fault, let time) in bench.session.wishes {
            #expect((.milliseconds(200) ... .milliseconds(300)).contains(time))
            bench.session.settle(stream, fault)
        }
        #expect(bench.feed([]) == [])
        service.sink.take(&bench.session.tally)
        #expect(service.counts.answers == ["200": 1])
        #expect(service.counts.unanswered["cancelled"] == 1)
        bench.feed(Bench.push(5))
        bench.session.connectionClosed()
        service.sink.take(&bench.session.tally)
        #expect(service.counts.unanswered["cancelled"] == 2)
        #expect(service.counts.arrived == 3)
    }
}
