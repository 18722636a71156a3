import APNsProtocol
import Testing

@Suite("Requests to APNs as values")
struct RequestTests {
    let bundle: BundleID
    let token: DeviceToken
    let channel: ChannelID
    let id = APNsID(seed: [UInt8](repeating: 7, count: 16), index: 0)

    init() throws {
        bundle = try #require(BundleID(validating: "com.example.ferry"))
        token = try #require(DeviceToken(validating: "00ff"))
        channel = try #require(ChannelID(validating: "ab+/AA=="))
    }

    @Test("a token push")
    func device() {
        let route = PushRoute.device(token)
        #expect(route.method == "POST" && route.path == "/3/device/00ff" && route.payloadLimitBytes == 4_096)
        let fields = PushHeaders.device(bundle, priority: 5, expiration: 1_790_000_600).fields(route: route, id: id)
        #expect(
            fields.map { "\($0.name): \($0.value)" } == [
                "apns-topic: com.example.ferry.push-type.liveactivity", "apns-push-type: liveactivity",
                "apns-priority: 5", "apns-expiration: 1790000600", "apns-id: \(id)",
            ]
        )
    }

    @Test("a broadcast")
    func broadcast() {
        let route = PushRoute.broadcast(bundle, channel)
        #expect(route.path == "/4/broadcasts/apps/com.example.ferry" && route.payloadLimitBytes == 5_120)
        let fields = PushHeaders.broadcast(priority: 10, expiration: 0).fields(route: route, id: id)
        #expect(
            fields.map { "\($0.name): \($0.value)" } == [
                "apns-push-type: liveactivity", "apns-priority: 10", "apns-expiration: 0",
                "apns-channel-id: ab+/AA==", "apns-request-id: \(id)",
            ]
        )
    }

    @Test("channel management")
    func channels() {
        let create = ChannelRequest.create(bundle, .mostRecentMessageStored)
        #expect(create.method == "POST" && create.path == "/1/apps/com.example.ferry/channels")
        #expect(create.body == Array(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8))
        #expect(ChannelRequest.read(bundle, channel).method == "GET")
        #expect(ChannelRequest.delete(bundle, channel).method == "DELETE")
        #expect(ChannelRequest.delete(bundle, channel).path == create.path)
        #expect(ChannelRequest.list(bundle).path == "/1/apps/com.example.ferry/all-channels")
        #expect(ChannelRequest.read(bundle, channel).fields(id: id).last?.value == "ab+/AA==")
        #expect(ChannelRequest.list(bundle).fields(id: id).count == 1)
    }

    @Test("answers of channel management")
    func answers() {
        let create = ChannelRequest.create(bundle, .noMessageStored)
        func answer(_ request: ChannelRequest, _ status: Int, _ body: String = "", id: String? = nil) -> ChannelAnswer {
            ChannelAnswer(to: request, status: status, channelID: id, body: Array(body.utf8))
        }
        #expect(answer(create, 201, id: "ab+/AA==") == .created(channel))
        #expect(answer(create, 201) == .failed(.refused(status: 201, reason: "unreadable answer")))
        for status in [200, 202, 204, 302] {
            guard case .failed(.later) = answer(create, status, "<html>") else {
                Issue.record("a channel made with status \(status) is something else's")
                continue
            }
        }
        #expect(answer(create, 400, #"{"reason":"CannotCreateChannelConfig"}"#) == .limitReached)
        #expect(
            answer(create, 400, #"{"reason":"BroadcastFeatureNotEnabled"}"#)
                == .failed(.broadcastNotEnabled("BroadcastFeatureNotEnabled"))
        )
        let read = ChannelRequest.read(bundle, channel)
        #expect(
            answer(read, 200, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
                == .found(.mostRecentMessageStored)
        )
        #expect(answer(read, 200, "{}") == .failed(.later(after: nil, reason: "unreadable answer")))
        #expect(answer(.list(bundle), 200, "<html>") == .failed(.later(after: nil, reason: "unreadable answer")))
        #expect(
            answer(read, 400, #"{"reason":"ChannelNotRegistered"}"#) == .failed(.channelGone("ChannelNotRegistered"))
        )
        let delete = ChannelRequest.delete(bundle, channel)
        #expect(answer(delete, 204) == .deleted)
        #expect(answer(delete, 404, #"{"reason":"BadPath"}"#) == .deleted)
        #expect(answer(delete, 503) == .failed(.later(after: nil, reason: "")))
        #expect(answer(.list(bundle), 200, #"{"channels":["ab+/AA=="]}"#) == .listed([channel]))
        #expect(answer(.list(bundle), 200, #"{"channels":[]}"#) == .listed([]))
    }

    @Test("a push is checked before it is sent")
    func checks() throws {
        let device = PushCheck(
            route: .device(token),
            headers: .device(bundle, priority: 10, expiration: 0),
            payloadBytes: 4_096,
            activityDataBytes: 4_096,
            event: .update
        )
        let broadcast = PushCheck(
            route: .broadcast(bundle, channel),
            headers: .broadcast(priority: 5, expiration: 0),
            payloadBytes: 5_120,
            event: .end,
            storagePolicy: .noMessageStored
        )
        #expect(device.faults == [] && broadcast.faults == [])
        func faults(_ check: PushCheck, _ change: (inout PushCheck) -> Void) -> [PushFault] {
            var check = check
            change(&check)
            return check.faults
        }
        #expect(faults(device) { $0.payloadBytes = 4_097 } == [.payloadTooLarge(bytes: 4_097, limit: 4_096)])
        #expect(faults(broadcast) { $0.payloadBytes = 5_121 } == [.payloadTooLarge(bytes: 5_121, limit: 5_120)])
        #expect(faults(device) { $0.activityDataBytes = 4_097 } == [.activityDataTooLarge(bytes: 4_097, limit: 4_096)])
        #expect(faults(device) { $0.payloadBytes = 0 } == [.payloadEmpty])
        #expect(faults(device) { $0.event = .start } == [.startIncomplete(missing: .all)])
        #expect(faults(device) { ($0.event, $0.parts) = (.start, .all) } == [])
        #expect(
            faults(device) { ($0.event, $0.parts) = (.start, [.alert, .attributes]) } == [
                .startIncomplete(missing: .attributesType)
            ]
        )
        #expect(faults(broadcast) { ($0.event, $0.parts) = (.start, .all) } == [.startByBroadcast])
        #expect(faults(device) { $0.headers.priority = 1 } == [.priority(1)])
        #expect(faults(device) { $0.headers.pushType = .alert } == [.pushType(.alert)])
        #expect(faults(device) { $0.headers.expiration = -1 } == [.expiration(-1)])
        #expect(faults(device) { $0.headers.topic = nil } == [.topicMissing])
        #expect(faults(device) { $0.headers.topic = "com.example.ferry" } == [.topicWithoutSuffix])
        #expect(faults(broadcast) { $0.headers.topic = "com.example.ferry" } == [.topicOnBroadcast])
        #expect(faults(broadcast) { $0.headers.expiration = nil } == [.expirationMissing])
        #expect(faults(broadcast) { $0.headers.expiration = 9 } == [.expirationOnUnstoredChannel(9)])
        #expect(faults(broadcast) { ($0.headers.expiration, $0.storagePolicy) = (9, .mostRecentMessageStored) } == [])
        let suffixed = try #require(BundleID(validating: bundle.liveActivityTopic))
        #expect(faults(broadcast) { $0.route = .broadcast(suffixed, channel) } == [.bundleWithSuffix])
        #expect(CollapseID(validating: String(repeating: "a", count: 65)) == nil)
    }
}
