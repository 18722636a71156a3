/// What a request asks for, by its method and path.
enum RequestRoute: Equatable, Sendable {
    case device(token: String)
    case broadcast(bundle: String)
    case createChannel(bundle: String)
    case readChannel(bundle: String)
    case deleteChannel(bundle: String)
    case listChannels(bundle: String)

    enum Kind: String, Sendable, CaseIterable {
        case device, broadcast, create, read, delete, list

        /// From 0, for tables.
        var index: Int {
            switch self {
            case .device: 0
            case .broadcast: 1
            case .create: 2
            case .read: 3
            case .delete: 4
            case .list: 5
            }
        }

        var bit: UInt8 { 1 << UInt8(index) }
    }

    var kind: Kind {
        switch self {
        case .device: .device
        case .broadcast: .broadcast
        case .createChannel: .create
        case .readChannel: .read
        case .deleteChannel: .delete
        case .listChannels: .list
        }
    }

    /// The bundle id in the path; a device push names its app in `apns-topic` instead.
    var bundle: String? {
        switch self {
        case .device: nil
        case .broadcast(let bundle), .createChannel(let bundle), .readChannel(let bundle), .deleteChannel(let bundle),
            .listChannels(let bundle):
            bundle
        }
    }

    /// Reads method and path as the listener of `role` does.
    ///
    /// A method that the listener never takes is 405, whatever the path (`HEAD /` answers so on the live service); then a
    /// path of the other listener, or of nothing, is 404.
    static func parse(_ method: String, _ path: String, on role: ListenerRole) -> Result<RequestRoute, Rejection> {
        switch role {
        case .push: parsePush(method, path)
        case .manage: parseManagement(method, path)
        }
    }

    private static func parsePush(_ method: String, _ path: String) -> Result<RequestRoute, Rejection> {
        guard method == "POST" else { return .failure(Rejection(405, "MethodNotAllowed")) }
        if let token = remainder(of: path, after: "/3/device/") {
            if token.isEmpty { return .failure(Rejection(400, "MissingDeviceToken")) }
            guard isOneSegment(token) else { return .failure(Rejection(404, "BadPath")) }
            return .success(.device(token: token))
        }
        if path == "/3/device" { return .failure(Rejection(400, "MissingDeviceToken")) }
        guard let bundle = remainder(of: path, after: "/4/broadcasts/apps/"), isOneSegment(bundle) else {
            return .failure(Rejection(404, "BadPath"))
        }
        return .success(.broadcast(bundle: bundle))
    }

    private static func parseManagement(_ method: String, _ path: String) -> Result<RequestRoute, Rejection> {
        let known = ["POST", "GET", "DELETE"]
        guard known.contains(method) else { return .failure(Rejection(405, "MethodNotAllowed")) }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count == 5, segments[0].isEmpty, segments[1] == "1", segments[2] == "apps", !segments[3].isEmpty
        else { return .failure(Rejection(404, "BadPath")) }
        let bundle = String(segments[3])
        switch (method, segments[4]) {
        case ("POST", "channels"): return .success(.createChannel(bundle: bundle))
        case ("GET", "channels"): return .success(.readChannel(bundle: bundle))
        case ("DELETE", "channels"): return .success(.deleteChannel(bundle: bundle))
        case ("GET", "all-channels"): return .success(.listChannels(bundle: bundle))
        case (_, "all-channels"): return .failure(Rejection(405, "MethodNotAllowed"))
        default: return .failure(Rejection(404, "BadPath"))
        }
    }

    private static func remainder(of path: String, after prefix: String) -> String? {
        guard path.utf8.starts(with: prefix.utf8) else { return nil }
        return String(path[path.utf8.index(path.utf8.startIndex, offsetBy: prefix.utf8.count)...])
    }

    private static func isOneSegment(_ text: String) -> Bool {
        !text.isEmpty && !text.utf8.contains(UInt8(ascii: "/"))
    }
}

/// The two listeners of an environment.
package enum ListenerRole: String, Sendable, CaseIterable {
    /// Device and broadcast pushes.
    case push
    /// Channel management.
    case manage
}
