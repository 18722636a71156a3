import Crypto
import HTTP2

/// The plain HTTP API that scripts the simulator and shows what it saw: JSON, under `/_sim/`.
struct ControlAPI: Sendable {
    /// Room for a million tokens in one call.
    static let mostBodyBytes = 256 << 20

    private let service: SimulatedService
    private let disturb: @Sendable (FaultAction) async -> Int

    /// - Parameters:
    ///   - service: What is behind the listeners.
    ///   - disturb: Does something to every connection, and says to how many.
    init(_ service: SimulatedService, disturb: @escaping @Sendable (FaultAction) async -> Int) {
        self.service = service
        self.disturb = disturb
    }

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        let target = ControlTarget(request.target)
        do throws(ControlError) {
            return try await route(request, target)
        } catch {
            var json = JSONWriter()
            json.object {
                $0.member("error", error.detail)
                if let field = error.field { $0.member("field", field) }
            }
            return Self.json(json.bytes, status: error.status)
        }
    }

    private func route(_ request: HTTPRequest, _ target: ControlTarget) async throws(ControlError) -> HTTPResponse {
        switch (request.method, target.path) {
        case ("POST", "/_sim/phones"): return try await addPhones(request)
        case ("GET", "/_sim/phones"): return try await showPhones(request, target)
        case ("DELETE", "/_sim/phones"):
            await service.forgetPhones()
            return Self.json(Array("{}".utf8))
        case ("GET", "/_sim/summary"): return Self.json(await service.summary())
        case ("GET", "/_sim/faults"): return Self.json(await service.faultUse())
        case ("PUT", "/_sim/faults"):
            let rules = try FaultRules.parse(try Self.parse(request.body))
            await service.setFaults(rules)
            return Self.json(Array(#"{"rules":\#(rules.count)}"#.utf8))
        case ("DELETE", "/_sim/faults"):
            await service.setFaults([])
            return Self.json(Array(#"{"rules":0}"#.utf8))
        case ("GET", "/_sim/counts"): return Self.json(await service.countsJSON())
        case ("POST", "/_sim/connections"): return try await disturb(request)
        case ("GET", "/_sim/requests"):
            return Self.json(
                await service.requestsJSON(last: try target.count("last", most: RequestLog.capacity) ?? 100)
            )
        case ("GET", "/_sim/repeats"):
            return Self.json(
                await service.repeatsJSON(
                    after: try target.count("after", most: .max >> 1) ?? 0,
                    limit: try target.count("limit", most: RepeatLog.capacity) ?? 1000
                )
            )
        case ("GET", "/_sim/channels"): return Self.json(await service.channelsJSON())
        case ("POST", "/_sim/credentials"): return try await addCredential(request)
        case ("PUT", "/_sim/apps"): return try await setApp(request)
        case (_, let path) where Self.methods[path] != nil:
            throw ControlError("\(path) takes \(Self.methods[path] ?? "")", status: 405)
        default:
            throw ControlError(
                "no such path; known are \(Self.methods.keys.sorted().joined(separator: ", "))",
                status: 404
            )
        }
    }

    static let methods = [
        "/_sim/phones": "POST, GET and DELETE", "/_sim/summary": "GET", "/_sim/faults": "PUT, GET and DELETE",
        "/_sim/counts": "GET", "/_sim/requests": "GET", "/_sim/channels": "GET", "/_sim/credentials": "POST",
        "/_sim/apps": "PUT", "/_sim/connections": "POST", "/_sim/repeats": "GET",
    ]

    // MARK: - Calls

    private func addPhones(_ request: HTTPRequest) async throws(ControlError) -> HTTPResponse {
        let added = try await service.addPhones(
            try PhoneRegistrations(try Self.parse(request.body), text: request.body)
        )
        var json = JSONWriter()
        json.object {
            $0.member("phones", added)
            if service.configuration.isLean { $0.member("modelled", false) }
        }
        return Self.json(json.bytes)
    }

    private func showPhones(_ request: HTTPRequest, _ target: ControlTarget) async throws(ControlError) -> HTTPResponse
    {
        let filter = PhoneFilter(
            token: try target.value("token").map { text throws(ControlError) in
                guard let token = DeviceTokenText.bytes(text) else {
                    throw ControlError("must be an even number of hexadecimal digits", field: "token")
                }
                return token
            },
            channel: target.value("channel"),
            limit: try target.count("limit", most: .max) ?? 1000,
            after: try target.count("after", most: .max >> 1) ?? 0
        )
        if request.fields["accept"]?.contains("text/html") ?? false {
            let page = await service.phonesPage(filter)
            return HTTPResponse(status: 200, fields: ["content-type": "text/html; charset=utf-8"], body: page)
        }
        return Self.json(await service.phonesJSON(filter))
    }

    /// Another key of any team, made here: its private half is in the answer.
    private func addCredential(_ request: HTTPRequest) async throws(ControlError) -> HTTPResponse {
        let json = try Self.parse(request.body)
        try ControlFields.require(json, only: ["team_id", "key_id", "environment", "bundles"], path: "")
        guard let teamID = try ControlFields.string(json, "team_id", path: "") else {
            throw ControlError("missing", field: "team_id")
        }
        guard let keyID = try ControlFields.string(json, "key_id", path: "") else {
            throw ControlError("missing", field: "key_id")
        }
        let bundles = json["bundles"]?.array?.compactMap(\.string)
        if let value = json["bundles"], bundles?.count != value.array?.count || bundles == nil {
            throw ControlError("must be a list of bundle ids", field: "bundles")
        }
        let environment = try ControlFields.environment(json)
        guard let key = try? P256PrivateKey.generate(), let pem = try? key.pem else {
            throw ControlError("no key could be made", status: 500)
        }
        let credential = SimulatedCredential(
            teamID: teamID,
            keyID: keyID,
            publicKey: key.publicKey,
            environment: environment,
            bundles: bundles.map { Set($0) }
        )
        await service.add(credential)
        var answer = JSONWriter()
        answer.object {
            $0.member("team_id", teamID)
            $0.member("key_id", keyID)
            $0.member("p8", pem)
        }
        return Self.json(answer.bytes, status: 201)
    }

    /// Does something to every open connection, idle ones included.
    private func disturb(_ request: HTTPRequest) async throws(ControlError) -> HTTPResponse {
        let json = try Self.parse(request.body)
        try ControlFields.require(json, only: ["do"], path: "")
        guard let text = json["do"] else { throw ControlError("missing", field: "do") }
        let action = try FaultRules.action(text, path: "do")
        switch action {
        case .close, .tcpReset, .silence, .mute, .goAway: break
        default: throw ControlError("must be close, tcp_reset, silence, mute or goaway", field: "do")
        }
        let count = await disturb(action)
        return Self.json(Array(#"{"connections":\#(count)}"#.utf8))
    }

    /// Switches an app's broadcast capability.
    private func setApp(_ request: HTTPRequest) async throws(ControlError) -> HTTPResponse {
        let json = try Self.parse(request.body)
        try ControlFields.require(json, only: ["bundle", "environment", "broadcast"], path: "")
        guard let bundle = try ControlFields.string(json, "bundle", path: "") else {
            throw ControlError("missing", field: "bundle")
        }
        guard let isEnabled = try ControlFields.bool(json, "broadcast", path: "") else {
            throw ControlError("missing", field: "broadcast")
        }
        let environments = try ControlFields.environment(json).map { [$0] } ?? SimulatedEnvironment.allCases
        for environment in environments { await service.setBroadcast(isEnabled, bundle, environment) }
        return Self.json(Array("{}".utf8))
    }

    // MARK: - JSON

    private static func parse(_ body: [UInt8]) throws(ControlError) -> JSONText {
        do throws(JSONTextError) {
            return try JSONTextParser.parse(body)
        } catch {
            throw ControlError("the body is no JSON: \(error.reason), at byte \(error.offset)")
        }
    }

    private static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["content-type": "application/json"], body: body + [0x0A])
    }
}
