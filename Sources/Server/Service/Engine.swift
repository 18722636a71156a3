internal import EventLoop
internal import Store

/// What works without being asked: dispatching and housekeeping, as far as the process has those roles.
struct Engine: Sendable {
    init(_ settings: Settings, store: Store, conninfo: String, loops: [EventLoop]) throws(ServiceFault) {}

    func wake() {}

    func run() async {}

    func drain(by deadline: ContinuousClock.Instant) async {}
}
