/// One request of channel management, as values. Source: Apple, "Sending channel management requests to APNs".
package enum ChannelRequest: Hashable, Sendable {
    /// Answers 201 with the new id in `apns-channel-id`.
    case create(BundleID, StoragePolicy)
    /// Answers 200 with the channel's storage policy.
    case read(BundleID, ChannelID)
    /// Answers 204. 404 `BadPath` means that the channel was gone already.
    case delete(BundleID, ChannelID)
    /// Answers 200 with all ids of the app.
    case list(BundleID)

    package var method: String {
        switch self {
        case .create: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    package var path: String {
        switch self {
        case .create(let bundle, _), .read(let bundle, _), .delete(let bundle, _):
            "/1/apps/\(bundle.text)/channels"
        case .list(let bundle):
            "/1/apps/\(bundle.text)/all-channels"
        }
    }

    /// The `apns-…` fields; the channel's id travels here, never in the path.
    package func fields(id: APNsID) -> [(name: String, value: String)] {
        switch self {
        case .create, .list:
            [("apns-request-id", id.description)]
        case .read(_, let channel), .delete(_, let channel):
            [("apns-request-id", id.description), ("apns-channel-id", channel.text)]
        }
    }

    package var body: [UInt8] {
        switch self {
        case .create(_, let policy):
            Array(#"{"message-storage-policy":\#(policy.rawValue),"push-type":"LiveActivity"}"#.utf8)
        case .read, .delete, .list: []
        }
    }
}
