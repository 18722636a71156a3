/// Where a push goes.
package enum PushRoute: Hashable, Sendable {
    /// One phone: `POST /3/device/<token>`.
    case device(DeviceToken)
    /// All phones on a channel: `POST /4/broadcasts/apps/<bundle id>`, the channel in a header.
    case broadcast(BundleID, ChannelID)

    package var method: String { "POST" }

    package var path: String {
        switch self {
        case .device(let token): "/3/device/" + token.text
        case .broadcast(let bundle, _): "/4/broadcasts/apps/" + bundle.text
        }
    }

    /// The header that carries the push's ``APNsID``: Apple's table of broadcast headers names another one.
    package var idHeader: String {
        switch self {
        case .device: "apns-id"
        case .broadcast: "apns-request-id"
        }
    }

    package var payloadLimitBytes: Int {
        switch self {
        case .device: PushLimits.devicePayloadBytes
        case .broadcast: PushLimits.broadcastPayloadBytes
        }
    }
}
