internal import APNs
internal import APNsProtocol
internal import Crypto
internal import EventLoop
internal import HTTP2
internal import Log
internal import PostgreSQL
internal import Store

/// What works without being asked: dispatching and housekeeping, as far as the process has those roles, and the bell
/// that tells it and other processes that there is something to do.
struct Engine: Sendable {
    private let bell: WorkBell
    private let store: Store
    private let conninfo: String
    private let loops: [EventLoop]
    let log: Logger
    /// For an admin's calls too, in every process.
    let channels: ChannelManagement
    /// Nil in a process that takes neither part.
    private let sending: Sending?

    private struct Sending: Sendable {
        let pool: SenderPool
        let dispatcher: Dispatcher?
        let housekeeper: Housekeeper?
    }

    /// - Throws: ``ServiceFault`` when the file of APNs' roots cannot be used.
    init(
        _ settings: Settings,
        store: Store,
        conninfo: String,
        loops: [EventLoop],
        log: Logger
    ) throws(ServiceFault) {
        // Names the process in leases: unique over all machines and restarts.
        let name = "p_\(Hex.encode(SecureRandom.bytes(8)))"
        bell = WorkBell(name: name)
        self.store = store
        self.conninfo = conninfo
        self.loops = loops
        self.log = log
        let configuration = try Self.poolConfiguration(settings, loops, log.of("apns"))
        let tokens = StoredProviderTokens(store: store)
        channels = ChannelManagement(configuration: configuration, providerTokens: tokens)
        guard !settings.roles.isDisjoint(with: [.dispatch, .housekeeping]) else {
            sending = nil
            return
        }
        var dispatching = DispatchConfiguration(owner: name)
        dispatching.loops = loops
        dispatching.log = log.of("dispatch")
        var housekeeping = Housekeeper.Configuration()
        housekeeping.log = log.of("housekeeping")
        let pool = SenderPool(configuration: configuration, providerTokens: tokens)
        sending = Sending(
            pool: pool,
            dispatcher: settings.roles.contains(.dispatch)
                ? Dispatcher(
                    store: store,
                    pool: pool,
                    channels: channels,
                    bell: bell,
                    configuration: dispatching
                ) : nil,
            housekeeper: settings.roles.contains(.housekeeping)
                ? Housekeeper(store: store, channels: channels, bell: bell, configuration: housekeeping) : nil
        )
    }

    /// After a commit that made something due. Cheap, from anywhere.
    func wake() { bell.ring() }

    /// Its counts are metrics; nil in a process that sends nothing.
    var pool: SenderPool? { sending?.pool }

    /// Pushes that have not ended.
    var pushesInHand: Int { pool.map { $0.counts.inFlight + $0.counts.waiting + $0.counts.outside } ?? 0 }

    var times: EventTimes? { sending?.dispatcher?.times }
    var books: Books? { sending?.housekeeper?.books }

    /// Runs until cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            let isBusy = sending?.dispatcher != nil
            group.addTask {
                await bell.runNotifying(over: store.database, after: isBusy ? .milliseconds(2) : .zero)
            }
            if let sending {
                group.addTask { await listen() }
                if let dispatcher = sending.dispatcher { group.addTask { await dispatcher.run() } }
                if let housekeeper = sending.housekeeper { group.addTask { await housekeeper.run() } }
            }
        }
    }

    /// Brings what is being sent to a page's end. Before ``run()`` is cancelled.
    func drain(by deadline: ContinuousClock.Instant) async {
        await sending?.dispatcher?.drain(by: deadline)
    }

    /// Closes the connections to APNs: what is still under way ends as unknown, and is sent again by whoever claims it.
    func close() async {
        await sending?.pool.drain(by: .now)
        await channels.close()
    }

    private func listen() async {
        await bell.runListening { () async throws(PGError) in
            try await PGConnection.connect(conninfo, on: loops[0], by: .now + .seconds(5))
        }
    }

    private static func poolConfiguration(
        _ settings: Settings,
        _ loops: [EventLoop],
        _ log: Logger
    ) throws(ServiceFault) -> SenderPoolConfiguration {
        var endpoints = APNsEndpoints()
        for (environment, own) in settings.apns {
            for (role, address) in [(LaneRole.push, own.push), (.broadcast, own.broadcast), (.manage, own.manage)] {
                endpoints[environment, role] = APNsEndpoint(host: address.host, port: address.port)
            }
        }
        do {
            let tls = try TLSContext.client(caFile: settings.apnsCAFile)
            var configuration = SenderPoolConfiguration(endpoints: endpoints, tls: tls, loops: loops)
            configuration.log = log
            return configuration
        } catch {
            throw ServiceFault("the roots that APNs is trusted by: \(error)", hint: "See --apns-ca.")
        }
    }
}
