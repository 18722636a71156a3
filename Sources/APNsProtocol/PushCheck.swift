/// What must hold before a push is sent: a fault here is ours, and APNs need not be asked.
package struct PushCheck: Sendable {
    package var route: PushRoute
    package var headers: PushHeaders
    package var payloadBytes: Int
    /// Attributes and content state together.
    package var activityDataBytes: Int
    package var event: LiveActivityEvent
    package var parts: Parts
    /// The channel's policy, where it is known.
    package var storagePolicy: StoragePolicy?

    /// Which keys the payload has that a `start` cannot do without.
    package struct Parts: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        package static let alert = Parts(rawValue: 1)
        package static let attributes = Parts(rawValue: 2)
        package static let attributesType = Parts(rawValue: 4)
        package static let all: Parts = [.alert, .attributes, .attributesType]
    }

    package init(
        route: PushRoute,
        headers: PushHeaders,
        payloadBytes: Int,
        activityDataBytes: Int = 0,
        event: LiveActivityEvent,
        parts: Parts = [],
        storagePolicy: StoragePolicy? = nil
    ) {
        self.route = route
        self.headers = headers
        self.payloadBytes = payloadBytes
        self.activityDataBytes = activityDataBytes
        self.event = event
        self.parts = parts
        self.storagePolicy = storagePolicy
    }

    /// Everything that is wrong, most basic first; empty when the push may go out.
    package var faults: [PushFault] {
        payloadFaults + headerFaults + routeFaults
    }

    private var payloadFaults: [PushFault] {
        var faults: [PushFault] = []
        if payloadBytes == 0 { faults.append(.payloadEmpty) }
        if payloadBytes > route.payloadLimitBytes {
            faults.append(.payloadTooLarge(bytes: payloadBytes, limit: route.payloadLimitBytes))
        }
        if activityDataBytes > PushLimits.activityDataBytes {
            faults.append(.activityDataTooLarge(bytes: activityDataBytes, limit: PushLimits.activityDataBytes))
        }
        if event == .start && !parts.isSuperset(of: .all) {
            faults.append(.startIncomplete(missing: Parts.all.subtracting(parts)))
        }
        return faults
    }

    private var headerFaults: [PushFault] {
        var faults: [PushFault] = []
        if headers.priority != 5 && headers.priority != 10 { faults.append(.priority(headers.priority)) }
        if headers.pushType != .liveActivity { faults.append(.pushType(headers.pushType)) }
        if let expiration = headers.expiration, expiration < 0 { faults.append(.expiration(expiration)) }
        return faults
    }

    private var routeFaults: [PushFault] {
        switch route {
        case .device:
            guard let topic = headers.topic else { return [.topicMissing] }
            return topic.hasSuffix(".push-type.liveactivity") ? [] : [.topicWithoutSuffix]
        case .broadcast(let bundle, _):
            var faults: [PushFault] = []
            if event == .start { faults.append(.startByBroadcast) }
            if headers.topic != nil { faults.append(.topicOnBroadcast) }
            if bundle.text.hasSuffix(".push-type.liveactivity") { faults.append(.bundleWithSuffix) }
            if headers.expiration == nil { faults.append(.expirationMissing) }
            if storagePolicy == .noMessageStored, let expiration = headers.expiration, expiration != 0 {
                faults.append(.expirationOnUnstoredChannel(expiration))
            }
            return faults
        }
    }
}

/// One thing that is wrong with a push.
package enum PushFault: Error, Hashable, Sendable {
    case payloadEmpty
    case payloadTooLarge(bytes: Int, limit: Int)
    case activityDataTooLarge(bytes: Int, limit: Int)
    case startIncomplete(missing: PushCheck.Parts)
    case startByBroadcast
    case priority(Int)
    case pushType(PushType)
    case expiration(Int64)
    case expirationMissing
    case expirationOnUnstoredChannel(Int64)
    case topicMissing
    case topicWithoutSuffix
    case topicOnBroadcast
    case bundleWithSuffix
}

extension PushCheck.Parts: Hashable {}
