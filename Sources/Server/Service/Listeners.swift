internal import EventLoop
internal import HTTP2
internal import HTTPServer
internal import Log
internal import Store

/// The API's listener, if this process has that role, and the one of its metrics.
struct Listeners: Sendable {
    let url: String?
    let metricsURL: String
    private let api: HTTPServer?
    private let metrics: HTTPServer

    static func start(
        _ settings: Settings,
        store: Store,
        engine: Engine,
        output: LogOutput?,
        loops: [EventLoop]
    ) async throws(ServiceFault) -> Listeners {
        do {
            var api: HTTPServer?
            var url: String?
            var events: EventCounts?
            if settings.roles.contains(.api) {
                var configuration = HTTPServerConfiguration(address: try await resolve(settings.listen))
                configuration.tls = try settings.tls.map { files in
                    try TLSContext.server(
                        certificateFile: files.certificate,
                        keyFile: files.key,
                        alpn: ["h2", "http/1.1"]
                    )
                }
                // Bulk lines are streamed, with a limit of their own; nothing else is that large.
                configuration.runsHandlersOnLoops = true
                configuration.limits.maxBodyBytes = API.maxBodyBytes
                let calls = API(
                    store: store,
                    channels: engine.channels,
                    log: engine.log.of("api"),
                    wake: { engine.wake() }
                )
                events = calls.events
                configuration.refuse = { calls.refusal($0) }
                let server = try await HTTPServer.start(
                    configuration,
                    loops: loops,
                    handler: calls.handler,
                    streaming: calls.streaming
                )
                let scheme = settings.tls == nil ? "http" : "https"
                url = "\(scheme)://\(Settings.HostPort(host: settings.listen.host, port: server.port))"
                api = server
            }
            do {
                let configuration = HTTPServerConfiguration(address: try await resolve(settings.metricsListen))
                let monitoring = Monitoring(
                    store: store,
                    pool: engine.pool,
                    times: engine.times,
                    books: engine.books,
                    events: events,
                    output: output
                )
                let metrics = try await HTTPServer.start(
                    configuration,
                    loops: [loops[0]],
                    handler: monitoring.handler
                )
                let address = Settings.HostPort(host: settings.metricsListen.host, port: metrics.port)
                return Listeners(url: url, metricsURL: "http://\(address)", api: api, metrics: metrics)
            } catch {
                await api?.drain(by: .now)
                throw error
            }
        } catch let fault as ServiceFault {
            throw fault
        } catch {
            throw ServiceFault("\(error)")
        }
    }

    /// Of the API's clients.
    var openConnections: Int { api?.openConnections ?? 0 }

    /// Finishes what was asked; the metrics go on to the end.
    func drain(by deadline: ContinuousClock.Instant) async {
        await api?.drain(by: deadline)
        await metrics.drain(by: .now)
    }

    private static func resolve(_ address: Settings.HostPort) async throws(ServiceFault) -> SocketAddress {
        do {
            return try await Resolver.resolve(host: address.host, port: address.port, by: .now + .seconds(10))[0]
        } catch {
            throw ServiceFault("\(error)")
        }
    }
}

extension Service {
    /// Without TLS, and nobody in front who has it, keys would cross the network in the clear.
    func checkAddress() throws(ServiceFault) {
        guard settings.roles.contains(.api), settings.tls == nil, !settings.isBehindProxy else { return }
        let host = settings.listen.host
        let isLoopback = SocketAddress(literal: host, port: 0)?.isLoopback ?? (host == "localhost")
        guard !isLoopback else { return }
        throw ServiceFault(
            "--listen \(settings.listen) would send API keys over the network unencrypted",
            hint: "Give --tls-cert and --tls-key, or --behind-proxy if something in front does TLS."
        )
    }
}
