import Crypto
import Testing

@testable import APNsSimulator

/// A header that is changed, and what the service says to it. An empty reason is a pass.
struct HeaderCase: Sendable, CustomStringConvertible {
    let header: String
    let value: String?
    let status: Int
    let reason: String

    init(_ header: String, _ value: String?, _ status: Int, _ reason: String) {
        self.header = header
        self.value = value
        self.status = status
        self.reason = reason
    }

    var description: String { "\(header): \(value.map { String($0.prefix(40)) } ?? "absent") → \(status) \(reason)" }
}

@Suite("The checks of a request")
struct RequestCheckTests {
    @Test(
        "method and path",
        arguments: [
            ("POST", "/3/device/\(CheckBench.token)", ListenerRole.push, 200, ""),
            ("GET", "/3/device/\(CheckBench.token)", .push, 405, "MethodNotAllowed"),
            ("HEAD", "/", .push, 405, "MethodNotAllowed"),
            ("POST", "/", .push, 404, "BadPath"),
            ("POST", "/3/device/", .push, 400, "MissingDeviceToken"),
            ("POST", "/3/devices/00", .push, 404, "BadPath"),
            ("POST", "/3/device/00/11", .push, 404, "BadPath"),
            ("POST", "/4/broadcasts/apps/", .push, 404, "BadPath"),
            ("POST", "/1/apps/com.example.ferry/channels", .push, 404, "BadPath"),
            ("POST", "/3/device/\(CheckBench.token)", .manage, 404, "BadPath"),
            ("PUT", "/1/apps/com.example.ferry/channels", .manage, 405, "MethodNotAllowed"),
            ("DELETE", "/1/apps/com.example.ferry/all-channels", .manage, 405, "MethodNotAllowed"),
            ("GET", "/1/apps/com.example.ferry/channels/abc", .manage, 404, "BadPath"),
            ("GET", "/1/apps//channels", .manage, 404, "BadPath"),
            ("GET", "/1/apps/com.example.ferry/all-channels", .manage, 200, ""),
        ]
    )
    func routes(method: String, path: String, role: ListenerRole, status: Int, reason: String) throws {
        var bench = try CheckBench()
        var request = bench.device()
        request.method = method
        request.path = path
        #expect(bench.check(request, on: role) == (status == 200 ? nil : Rejection(status, reason)))
    }

    @Test(
        "headers of a device push",
        arguments: [
            HeaderCase("authorization", nil, 403, "MissingProviderToken"),
            HeaderCase("authorization", "", 403, "MissingProviderToken"),
            HeaderCase("authorization", "bearer a.b.c", 403, "InvalidProviderToken"),
            HeaderCase("authorization", "basic abc", 403, "InvalidProviderToken"),
            HeaderCase("apns-topic", nil, 400, "MissingTopic"),
            HeaderCase("apns-topic", "com.example.ferry", 400, "BadTopic"),
            HeaderCase("apns-topic", ".push-type.liveactivity", 400, "BadTopic"),
            HeaderCase("apns-push-type", nil, 400, "InvalidPushType"),
            HeaderCase("apns-push-type", "LiveActivity", 400, "InvalidPushType"),
            HeaderCase("apns-push-type", "alert", 400, "BadTopic"),
            HeaderCase("apns-priority", nil, 200, ""),
            HeaderCase("apns-priority", "1", 400, "BadPriority"),
            HeaderCase("apns-priority", "7", 400, "BadPriority"),
            HeaderCase("apns-priority", "10", 200, ""),
            HeaderCase("apns-expiration", nil, 200, ""),
            HeaderCase("apns-expiration", "0", 200, ""),
            HeaderCase("apns-expiration", "300", 200, ""),
            HeaderCase("apns-expiration", "soon", 400, "BadExpirationDate"),
            HeaderCase("apns-expiration", "1790000600.5", 400, "BadExpirationDate"),
            HeaderCase("apns-id", "not-a-uuid", 400, "BadMessageId"),
            HeaderCase("apns-id", "eabeae54-14a8-11e5-b60b-1697f925ec7b", 200, ""),
            HeaderCase("apns-collapse-id", String(repeating: "c", count: 64), 200, ""),
            HeaderCase("apns-collapse-id", String(repeating: "c", count: 65), 400, "BadCollapseId"),
        ]
    )
    func deviceHeaders(_ headerCase: HeaderCase) throws {
        var bench = try CheckBench()
        let rejection = bench.check(bench.device([headerCase.header: headerCase.value]), on: .push)
        #expect(rejection == (headerCase.status == 200 ? nil : Rejection(headerCase.status, headerCase.reason)))
    }

    @Test(
        "headers of a broadcast",
        arguments: [
            HeaderCase("apns-channel-id", nil, 400, "MissingChannelId"),
            HeaderCase("apns-channel-id", "no base64!", 400, "BadChannelId"),
            HeaderCase("apns-channel-id", "AAAA", 400, "BadChannelId"),
            HeaderCase("apns-channel-id", Base64.encode([UInt8](repeating: 7, count: 16)), 400, "ChannelNotRegistered"),
            HeaderCase("apns-push-type", nil, 400, "MissingPushType"),
            HeaderCase("apns-push-type", "alert", 400, "InvalidPushType"),
            HeaderCase("apns-expiration", nil, 400, "BadExpirationDate"),
            HeaderCase("apns-expiration", "1790000600", 400, "BadExpirationDate"),
            HeaderCase("apns-priority", nil, 400, "BadPriority"),
            HeaderCase("apns-priority", "1", 200, ""),
            HeaderCase("apns-request-id", "x", 400, "BadMessageId"),
        ]
    )
    func broadcastHeaders(_ headerCase: HeaderCase) throws {
        var bench = try CheckBench()
        let channel = try #require(bench.channels.create(CheckBench.bundle, .production, storagePolicy: 0))
        let request = bench.broadcast([headerCase.header: headerCase.value], on: channel.id)
        let rejection = bench.check(request, on: .push)
        #expect(rejection == (headerCase.status == 200 ? nil : Rejection(headerCase.status, headerCase.reason)))
    }

    @Test("a stored expiration is taken by policy 1 only, 0 by both")
    func storagePolicy() throws {
        var bench = try CheckBench()
        let storing = try #require(bench.channels.create(CheckBench.bundle, .production, storagePolicy: 1))
        let later = "\(CheckBench.now + 600)"
        #expect(bench.check(bench.broadcast(["apns-expiration": later], on: storing.id), on: .push) == nil)
        #expect(bench.check(bench.broadcast(["apns-expiration": "0"], on: storing.id), on: .push) == nil)
    }

    @Test("payload sizes", arguments: [(0, 400, "PayloadEmpty"), (4096, 200, ""), (4097, 413, "PayloadTooLarge")])
    func payload(size: Int, status: Int, reason: String) throws {
        var bench = try CheckBench()
        let rejection = bench.check(bench.device(body: String(repeating: " ", count: size)), on: .push)
        #expect(rejection == (status == 200 ? nil : Rejection(status, reason)))
    }

    @Test("a broadcast may have 5,120 bytes", arguments: [(5120, true), (5121, false)])
    func broadcastPayload(size: Int, passes: Bool) throws {
        var bench = try CheckBench()
        let channel = try #require(bench.channels.create(CheckBench.bundle, .production, storagePolicy: 0))
        let body = String(repeating: " ", count: size)
        let rejection = bench.check(bench.broadcast(on: channel.id, body: body), on: .push)
        #expect(rejection == (passes ? nil : Rejection(413, "PayloadTooLarge")))
    }

    @Test("of several faults the earlier check answers")
    func order() throws {
        var bench = try CheckBench()
        let bad: [String: String?] = ["apns-priority": "7", "apns-topic": nil]
        #expect(bench.check(bench.device(bad, token: "zz", body: ""), on: .push)?.reason == "MissingTopic")
        #expect(
            bench.check(bench.device(["apns-priority": "7"], token: "zz", body: ""), on: .push)?.reason == "BadPriority"
        )
        #expect(bench.check(bench.device(token: "zz", body: ""), on: .push)?.reason == "BadDeviceToken")
        var everything = bench.device(["authorization": nil, "apns-topic": nil], token: "zz", body: "")
        everything.hasDuplicates = true
        #expect(bench.check(everything, on: .push)?.reason == "MissingProviderToken")
        let names = RequestCheck.order.map(\.name)
        #expect(names.first == "method and path")
        #expect(names.dropFirst().first == "provider token")
    }

    @Test("a header that comes twice is refused")
    func duplicates() throws {
        var bench = try CheckBench()
        var request = bench.device()
        request.take("apns-topic", "another")
        #expect(bench.check(request, on: .push) == Rejection(400, "DuplicateHeaders"))
    }

    @Test("tokens of any length pass, tokens of the other environment do not")
    func tokens() throws {
        var bench = try CheckBench()
        for digits in [2, 64, 108, 160, 512] {
            #expect(bench.check(bench.device(token: String(repeating: "a", count: digits)), on: .push) == nil)
        }
        for token in ["a", "0g", String(repeating: "a", count: 514)] {
            #expect(bench.check(bench.device(token: token), on: .push) == Rejection(400, "BadDeviceToken"))
        }
        bench.sandboxPhones.register(token: [0xAB], PhoneStore.Registration(), now: CheckBench.now)
        #expect(bench.check(bench.device(token: "ab"), on: .push) == Rejection(400, "BadDeviceToken"))
        let registration = PhoneStore.Registration(bundle: "com.example.other")
        bench.phones.register(token: [0xCD], registration, now: CheckBench.now)
        #expect(bench.check(bench.device(token: "cd"), on: .push) == Rejection(400, "DeviceTokenNotForTopic"))
    }

    @Test("a key for some bundles, or one environment")
    func scopedKeys() throws {
        var bench = try CheckBench(bundles: ["com.example.bus"])
        #expect(bench.check(bench.device(), on: .push) == Rejection(400, "TopicDisallowed"))
        let list = bench.manage("GET", "/1/apps/com.example.ferry/all-channels")
        #expect(bench.check(list, on: .manage) == Rejection(403, "TopicMismatch"))
        var sandbox = try CheckBench(keyEnvironment: .sandbox)
        #expect(sandbox.check(sandbox.device(), on: .push) == Rejection(403, "BadEnvironmentKeyIdInToken"))
    }
}
