/// One thing that the service checks about a request.
struct RequestCheck: Sendable {
    let name: String
    /// A bit for each kind: cheaper to ask than a set.
    private let routes: UInt8
    let run: @Sendable (inout CheckContext) -> Rejection?

    private init(
        _ name: String,
        on routes: [RequestRoute.Kind] = RequestRoute.Kind.allCases,
        _ run: @escaping @Sendable (inout CheckContext) -> Rejection?
    ) {
        self.name = name
        self.routes = routes.reduce(0) { $0 | $1.bit }
        self.run = run
    }

    func concerns(_ kind: RequestRoute.Kind) -> Bool { routes & kind.bit != 0 }

    /// The order of all checks, in one place. Apple documents that authentication comes before token and channel; the
    /// finer order is ours.
    static let order: [RequestCheck] = [
        RequestCheck("method and path", parseRoute),
        RequestCheck("provider token", authenticate),
        RequestCheck("key of this environment", checkKeyEnvironment),
        RequestCheck("key and team of this connection", checkConnection),
        RequestCheck("topic of the key", on: [.device], checkTopicAllowed),
        RequestCheck("bundle id of the key", on: [.broadcast, .create, .read, .delete, .list], checkBundleAllowed),
        RequestCheck("repeated headers", checkDuplicates),
        RequestCheck("missing headers", on: [.device], checkDeviceHeadersPresent),
        RequestCheck("missing headers", on: [.broadcast], checkBroadcastHeadersPresent),
        RequestCheck("missing headers", on: [.read, .delete], checkChannelHeaderPresent),
        RequestCheck("message id", checkMessageID),
        RequestCheck("push type and topic", on: [.device], checkPushTypeAndTopic),
        RequestCheck("push type", on: [.broadcast], checkBroadcastPushType),
        RequestCheck("priority", on: [.device, .broadcast], checkPriority),
        RequestCheck("expiration", on: [.device, .broadcast], checkExpiration),
        RequestCheck("collapse id", on: [.device], checkCollapseID),
        RequestCheck("device token", on: [.device], checkDeviceToken),
        RequestCheck("channel", on: [.broadcast, .read], checkChannel),
        RequestCheck("channel", on: [.delete], checkDeletedChannel),
        RequestCheck("expiration for the channel's storage policy", on: [.broadcast], checkStoragePolicy),
        RequestCheck("payload", on: [.device, .broadcast], checkPayload),
        RequestCheck("channel's description", on: [.create], checkChannelDescription),
    ]

    private static func parseRoute(_ context: inout CheckContext) -> Rejection? {
        switch RequestRoute.parse(context.request.method, context.request.path, on: context.role) {
        case .success(let route):
            context.route = route
            return nil
        case .failure(let rejection): return rejection
        }
    }

    private static func checkDuplicates(_ context: inout CheckContext) -> Rejection? {
        context.request.hasDuplicates ? Rejection(400, "DuplicateHeaders") : nil
    }
}
