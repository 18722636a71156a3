import EventLoop
import HTTP2

/// The simulated service behind all listeners: what it knows, what it was told to do wrong, and what it saw.
///
/// Pinned to the loop of the listeners, so that a connection asks it synchronously and no lock is needed.
actor SimulatedService {
    nonisolated let loop: EventLoop
    nonisolated let configuration: SimulatorConfiguration
    let verifier: ProviderTokenVerifier
    let channels: ChannelStore
    private let production = PhoneStore(environment: .production)
    private let sandbox = PhoneStore(environment: .sandbox)
    nonisolated let faults: FaultBook
    /// What the lean listeners do.
    nonisolated let sink: LeanSink
    var counts = CountKeeper()
    var log = RequestLog()
    let requestFile: RequestFile?
    var repeats = RepeatLog()
    var payloads = PayloadCache()
    var recentIDs = RecentIDs()
    var generator: SeededGenerator
    /// Of the last answer.
    var newestDate = (second: Int64.min, text: "")
    private var contracts: [PhoneContract] = []
    private var connections: [ObjectIdentifier: HTTP2ServerConnection] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Throws: When the configured request file cannot be opened.
    init(
        _ configuration: SimulatorConfiguration,
        credentials: [SimulatedCredential],
        on loop: EventLoop
    ) throws(SimulatorError) {
        requestFile = if let path = configuration.requestFile { try RequestFile(path) } else { nil }
        self.configuration = configuration
        self.loop = loop
        verifier = ProviderTokenVerifier(credentials)
        channels = ChannelStore(generator: SeededGenerator(seed: configuration.seed))
        faults = FaultBook(generator: SeededGenerator(seed: configuration.seed.map { $0 &+ 1 }))
        sink = LeanSink(configuration, faults: faults)
        generator = SeededGenerator(seed: configuration.seed.map { $0 &+ 2 })
        production.other = sandbox
        sandbox.other = production
    }

    var now: Int64 { configuration.clock() }

    func phones(in environment: SimulatedEnvironment) -> PhoneStore {
        environment == .production ? production : sandbox
    }

    /// The contract of this text, the same object for the same text.
    func contract(_ text: [UInt8]) throws(ControlError) -> PhoneContract {
        if let known = contracts.first(where: { $0.text == text }) { return known }
        do {
            let contract = try PhoneContract(try JSONTextParser.parse(text), text: text)
            contracts.append(contract)
            return contract
        } catch let error as ControlError {
            throw error
        } catch {
            throw ControlError("is no JSON", field: "content_state")
        }
    }

    // MARK: - Connections

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        counts.connections += 1
        counts.openConnections += 1
        connections[ObjectIdentifier(connection)] = connection
    }

    /// Also for a connection that ended before it was opened: its descriptor could not be used.
    func connectionClosed(_ connection: HTTP2ServerConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        counts.openConnections -= 1
    }

    /// Does something to every connection: close, reset, silence or GOAWAY. Returns to how many.
    func disturb(_ action: FaultAction) -> Int {
        let all = Array(connections.values)
        for connection in all {
            connection.assumeIsolated { connection in
                connection.withHooks { hooks, connection in
                    (hooks as? ProviderConnection)?.disturb(action, of: connection)
                }
            }
        }
        return all.count
    }

    /// Closes every connection at once.
    func closeConnections() {
        for connection in connections.values { connection.assumeIsolated { $0.close() } }
    }

    func streamLimitBroken() { counts.streamLimitBroken += 1 }

    func note(_ body: (inout CountKeeper) -> Void) { body(&counts) }

    /// A request was refused before it was read whole.
    func refusedUnread(_ rejection: Rejection) {
        counts.arrived += 1
        counts.count(nil)
        counts.count(rejection)
    }
}
