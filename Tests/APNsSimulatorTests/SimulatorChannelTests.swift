import APNsSimulator
import HTTP2
import TestSupport
import Testing

@Suite("Channels of a simulator", .timeLimit(.minutes(1)))
struct SimulatorChannelTests {
    private func create(_ bench: SimulatorBench, policy: Int, on client: HTTP2Client) async throws -> String {
        let body = #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#
        let answer = try await client.answer(bench.manage("POST", body: body))
        #expect(answer.status == 201)
        #expect(answer.body.isEmpty)
        #expect(answer.fields["apns-request-id"] != nil)
        return try #require(answer.fields["apns-channel-id"])
    }

    @Test("a channel's life: created, read, listed, deleted, gone")
    func life() async throws {
        try await SimulatorBench.with { bench in
            let client = try await bench.connect(.sandbox, .manage)
            let channel = try await create(bench, policy: 1, on: client)
            let read = try await client.answer(bench.manage("GET", channel: channel))
            #expect(read.status == 200)
            #expect(read.text == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
            let list = try await client.answer(bench.manage("GET", "all-channels"))
            #expect(list.text == #"{"channels":["\#(channel)"]}"#)
            let known = try await bench.control("GET", "/_sim/channels")
            #expect(known.text.contains(#""environment":"sandbox","storage_policy":1"#))
            #expect(try await client.answer(bench.manage("DELETE", channel: channel)).status == 204)
            let again = try await client.answer(bench.manage("DELETE", channel: channel))
            #expect(again.status == 404)
            #expect(again.text == #"{"reason":"BadPath"}"#)
            let production = try await bench.connect(.production, .manage)
            #expect(try await production.answer(bench.manage("GET", "all-channels")).text == #"{"channels":[]}"#)
        }
    }

    @Test("a broadcast reaches every phone of its channel; a stored one also those that come later")
    func broadcast() async throws {
        try await SimulatorBench.with { bench in
            let manage = try await bench.connect(.production, .manage)
            let channel = try await create(bench, policy: 1, on: manage)
            let phones = #"{"environment":"production","phones":[{"channel":"\#(channel)","count":"#
            #expect(try await bench.control("POST", "/_sim/phones", phones + "500}]}").text == "{\"phones\":500}\n")
            let push = try await bench.connect()
            let expiration = bench.simulator.clock() + 600
            let answer = try await push.answer(bench.broadcast(channel, expiration: expiration))
            #expect(answer.status == 200)
            #expect(answer.fields["apns-unique-id"] != nil)
            #expect(answer.fields["apns-request-id"] != nil)
            _ = try await bench.control("POST", "/_sim/phones", phones + "20}]}")
            let summary = try await bench.control("GET", "/_sim/summary")
            let shows = #"{"phones":520,"shows":[{"content_state":{"home":1},"ended":false,"count":520}]"#
            #expect(summary.text.hasPrefix(shows))
        }
    }

    @Test("without the capability, channels are gone and none can be made")
    func capability() async throws {
        try await SimulatorBench.with { bench in
            let manage = try await bench.connect(.production, .manage)
            let channel = try await create(bench, policy: 0, on: manage)
            let app = #"{"bundle":"\#(SimulatorBench.bundle)","broadcast":"#
            #expect(try await bench.control("PUT", "/_sim/apps", app + "false}").status == 200)
            let push = try await bench.connect()
            let answer = try await push.answer(bench.broadcast(channel))
            #expect(answer.text == #"{"reason":"BroadcastFeatureNotEnabled"}"#)
            _ = try await bench.control("PUT", "/_sim/apps", app + "true}")
            #expect(try await push.answer(bench.broadcast(channel)).text == #"{"reason":"ChannelNotRegistered"}"#)
        }
    }
}
