import APNsSimulator
import Crypto
import EventLoop
import HTTP2
import TestSupport

/// A simulator and a provider that talks to it over TLS.
struct SimulatorBench: Sendable {
    static let bundle = "com.example.ferry"

    let simulator: APNsSimulator
    let loop: EventLoop
    let authorization: String
    private let clients = OpenClients()

    /// Runs a body against a simulator of its own.
    static func with<Result: Sendable>(
        faults: String? = nil,
        configure: (inout SimulatorConfiguration) -> Void = { _ in },
        _ body: (SimulatorBench) async throws -> Result
    ) async throws -> Result {
        try await withSimulator(faults: faults, configure: configure) { simulator in
            let loop = try EventLoop(name: "provider")
            defer { loop.shutdown() }
            let clock = simulator.clock()
            let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(simulator.keyID)"}"#.utf8))
            let claims = Base64URL.encode(Array(#"{"iss":"\#(simulator.teamID)","iat":\#(clock)}"#.utf8))
            let signature = try simulator.key.sign(Array("\(header).\(claims)".utf8))
            let bench = SimulatorBench(
                simulator: simulator,
                loop: loop,
                authorization: "bearer \(header).\(claims).\(Base64URL.encode(signature))"
            )
            do {
                let result = try await body(bench)
                await bench.clients.closeAll()
                return result
            } catch {
                await bench.clients.closeAll()
                throw error
            }
        }
    }

    func connect(
        _ environment: SimulatedEnvironment = .production,
        _ role: ListenerRole = .push
    ) async throws -> HTTP2Client {
        var configuration = HTTP2ClientConfiguration.patient
        configuration.firstRequestAlone = true
        let client = try await HTTP2Client.connect(
            host: "localhost",
            port: simulator.port(environment, role),
            tls: try TLSContext.client(caFile: simulator.caFile),
            on: loop,
            by: .patient,
            configuration: configuration
        )
        await clients.add(client)
        return client
    }

    func device(_ token: String, _ fields: HTTPFields = [:], body: String = SimulatorBench.payload(1)) -> HTTPRequest {
        let common: HTTPFields = [
            "authorization": authorization, "apns-topic": "\(Self.bundle).push-type.liveactivity",
            "apns-push-type": "liveactivity", "apns-priority": "5",
        ]
        return request("POST", "/3/device/\(token)", common, fields, body)
    }

    func broadcast(_ channel: String, expiration: Int64 = 0, body: String = SimulatorBench.payload(1)) -> HTTPRequest {
        let fields: HTTPFields = [
            "authorization": authorization, "apns-channel-id": channel, "apns-push-type": "liveactivity",
            "apns-priority": "10", "apns-expiration": "\(expiration)",
        ]
        return request("POST", "/4/broadcasts/apps/\(Self.bundle)", fields, [:], body)
    }

    func manage(_ method: String, _ last: String = "channels", channel: String? = nil, body: String = "") -> HTTPRequest
    {
        var fields: HTTPFields = ["authorization": authorization]
        if let channel { fields.set("apns-channel-id", channel) }
        return request(method, "/1/apps/\(Self.bundle)/\(last)", fields, [:], body)
    }

    /// Calls the control API.
    func control(
        _ method: String,
        _ path: String,
        _ body: String = "",
        accept: String = "*/*"
    ) async throws -> (status: Int, text: String) {
        let port = Int(simulator.controlURL.split(separator: ":").last ?? "") ?? 0
        let client = try await HTTP2Client.connect(
            host: "127.0.0.1",
            port: port,
            tls: nil,
            on: loop,
            by: .patient
        )
        let request = HTTPRequest(
            method: method,
            scheme: "",
            authority: "",
            target: path,
            fields: ["accept": accept],
            body: Array(body.utf8)
        )
        let response = try await client.send(request, by: .patient)
        await client.close()
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    static func payload(_ stamp: Int, state: String = #"{"home":1}"#, event: String = "update") -> String {
        #"{"aps":{"timestamp":\#(stamp),"event":"\#(event)","content-state":\#(state)}}"#
    }

    private func request(
        _ method: String,
        _ path: String,
        _ common: HTTPFields,
        _ more: HTTPFields,
        _ body: String
    ) -> HTTPRequest {
        var fields = common
        for (name, value) in more.pairs { fields.set(name, value) }
        return HTTPRequest(
            method: method,
            scheme: "",
            authority: "",
            target: path,
            fields: fields,
            body: Array(body.utf8)
        )
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

extension HTTP2Client {
    /// Sends with a deadline that no healthy exchange needs.
    func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await send(request, by: .patient)
    }
}

/// Closed before their loop ends: a connection that is left open there would never be let go.
private actor OpenClients {
    private var clients: [HTTP2Client] = []

    func add(_ client: HTTP2Client) { clients.append(client) }

    func closeAll() async {
        for client in clients { await client.close() }
        clients = []
    }
}
