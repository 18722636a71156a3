import Crypto
import Testing

@testable import APNsSimulator

@Suite("The checks of channel management")
struct ChannelCheckTests {
    static let unknown = Base64.encode([UInt8](repeating: 9, count: 16))

    @Test(
        "the description of a new channel",
        arguments: [
            (#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#, ""),
            (#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#, ""),
            (#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, "BadRequestParams"),
            (#"{"push-type":"LiveActivity"}"#, "BadRequestParams"),
            (#"{"message-storage-policy":1,"push-type":"LiveActivity","name":"x"}"#, "BadRequestParams"),
            (#"{"message-storage-policy":1}"#, "MissingPushType"),
            (#"{"message-storage-policy":1,"push-type":"liveactivity"}"#, "InvalidPushType"),
            ("{", "BadRequestPayload"),
            ("", "BadRequestPayload"),
        ]
    )
    func description(body: String, reason: String) throws {
        var bench = try CheckBench()
        let rejection = bench.check(bench.manage("POST", body: body), on: .manage)
        #expect(rejection == (reason.isEmpty ? nil : Rejection(400, reason)))
    }

    @Test("an unknown channel, read and deleted, in both profiles")
    func unknownChannel() throws {
        var bench = try CheckBench()
        let path = "/1/apps/com.example.ferry/channels"
        let header: [String: String?] = ["apns-channel-id": Self.unknown]
        #expect(bench.check(bench.manage("GET", path), on: .manage) == Rejection(400, "MissingChannelId"))
        #expect(bench.check(bench.manage("GET", path, header), on: .manage) == Rejection(400, "ChannelNotRegistered"))
        #expect(bench.check(bench.manage("DELETE", path, header), on: .manage) == Rejection(404, "BadPath"))
        bench.profile = .documented
        #expect(
            bench.check(bench.manage("DELETE", path, header), on: .manage) == Rejection(400, "ChannelNotRegistered")
        )
    }

    @Test("without the capability nothing of the app's channels works, in the profile's words")
    func capability() throws {
        var bench = try CheckBench()
        let channel = try #require(bench.channels.create(CheckBench.bundle, .production, storagePolicy: 1))
        bench.channels.setEnabled(false, CheckBench.bundle, .production)
        #expect(bench.check(bench.broadcast(on: channel.id), on: .push) == Rejection(400, "BroadcastFeatureNotEnabled"))
        bench.profile = .documented
        #expect(bench.check(bench.broadcast(on: channel.id), on: .push) == Rejection(400, "FeatureNotEnabled"))
        bench.channels.setEnabled(true, CheckBench.bundle, .production)
        #expect(bench.check(bench.broadcast(on: channel.id), on: .push) == Rejection(400, "ChannelNotRegistered"))
    }

    @Test("a bundle id with a topic's suffix is not allowed")
    func suffix() throws {
        var bench = try CheckBench()
        let request = bench.broadcast(on: Self.unknown, bundle: "com.example.ferry.push-type.liveactivity")
        #expect(bench.check(request, on: .push) == Rejection(400, "TopicDisallowed"))
    }

    @Test("channels are kept apart by app and environment, and at most 10,000 of each")
    func store() throws {
        let store = ChannelStore(generator: SeededGenerator(seed: 5))
        for _ in 0..<ChannelStore.mostPerApp {
            #expect(store.create("a.b", .sandbox, storagePolicy: 0) != nil)
        }
        #expect(store.create("a.b", .sandbox, storagePolicy: 0) == nil)
        let other = try #require(store.create("a.b", .production, storagePolicy: 1))
        #expect(ChannelStore.isWellFormed(other.id))
        #expect(store.find(other.id, "a.b", .sandbox) == nil)
        #expect(store.find(other.id, "a.c", .production) == nil)
        #expect(store.find(other.id, "a.b", .production)?.storagePolicy == 1)
        #expect(store.delete(other.id, "a.b", .production))
        #expect(!store.delete(other.id, "a.b", .production))
        #expect(store.list("a.b", .sandbox).count == ChannelStore.mostPerApp)
    }
}
