internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

/// One authenticated request on its way through a handler.
struct Call: Sendable {
    let request: HTTPRequest
    let requestID: String
    let target: RequestTarget
    /// The path's parameters by name, still percent-encoded.
    let parameters: [String: Substring]
    let role: Role
    /// Whose rows it is about; nil only where an operator's call is about no tenant.
    let tenantID: TenantID?
    /// For everything that it waits for.
    private(set) var deadline: ContinuousClock.Instant
    let now: Timestamp
    /// Read beside the look-up of the key.
    private(set) var ahead: ReadAhead?

    /// The tenant of a call on a tenant's route, where the router has seen to it that there is one.
    var tenant: TenantID {
        guard let tenantID else { preconditionFailure("a route of tenants was called without one") }
        return tenantID
    }

    /// The same call with time anew, for the next part of a long one.
    func renewed(_ patience: Duration) -> Call {
        var call = self
        call.deadline = .now + patience
        return call
    }

    /// A path parameter that passes its type's allow-list.
    func parameter<Text: WrappedText>(_ name: String, _ type: Text.Type = Text.self) throws(Problem) -> Text {
        guard let text = PercentDecoding.decode(parameters[name] ?? ""), let value = Text(validating: text) else {
            throw Problem(
                .invalidField,
                "\(name) in the path must be \(Text.rule), percent-encoded",
                field: name
            )
        }
        return value
    }

    func environment() throws(Problem) -> APNsEnvironment {
        guard let environment = APNsEnvironment(rawValue: String(parameters["environment"] ?? "")) else {
            throw Problem(.invalidField, "environment is neither sandbox nor production", field: "environment")
        }
        return environment
    }

    func match() throws(Problem) -> MatchKey { MatchKey(tenant: tenant, match: try parameter("match")) }

    func app() throws(Problem) -> AppKey {
        AppKey(tenant: tenant, bundle: try parameter("bundle"), environment: try environment())
    }

    /// The biggest body that is one JSON value.
    static let maxJSONBytes = 1 << 20

    /// The body as one JSON value.
    func json() throws(Problem) -> JSONValue {
        guard request.body.count <= Self.maxJSONBytes else {
            throw Problem(
                .bodyTooLarge,
                "the body has \(request.body.count) bytes, \(Self.maxJSONBytes) are the most",
                hint: "Send many objects as lines: POST /v1/events, POST /v1/matches/{match}/activities.",
                excess: Problem.SizeExcess(size: request.body.count, limit: Self.maxJSONBytes)
            )
        }
        guard !request.body.isEmpty else {
            throw Problem(.malformedJSON, "the body is empty; it must be a JSON object")
        }
        return try JSONScanner.decode(request.body)
    }

    /// The body as an object that has only these members.
    func object(_ names: String...) throws(Problem) -> ObjectReader { try ObjectReader(try json(), names: names) }

    /// A query without parameters.
    func noQuery() throws(Problem) { _ = try target.parameters([]) }
}
