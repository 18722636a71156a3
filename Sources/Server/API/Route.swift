internal import Core
internal import HTTP2

/// One call of the API: where it is, who may make it, and what answers.
struct Route: Sendable {
    typealias Handler = @Sendable (API, Call) async throws -> HTTPResponse
    /// Reads and answers line by line.
    typealias LineHandler = @Sendable (API, Call, any LineExchange) async throws -> Void

    let method: String
    let segments: [Segment]
    let access: Access
    let answer: Answer
    /// The match's context is read while the key is looked up.
    private(set) var readsAhead = false

    enum Answer: Sendable {
        case whole(Handler)
        case lines(LineHandler)
    }

    enum Segment: Sendable {
        case literal(String)
        case parameter(String)
    }

    /// Who may call, and how the tenant is named.
    enum Access: Sendable {
        /// Anybody, without a key.
        case open
        /// Operators; the call is about no tenant.
        case operators
        /// Operators, who name the tenant by `Touchline-Tenant`, and keys of these roles.
        case tenant(Set<Role>)
        /// Operators and keys of these roles; the path names the tenant.
        case tenantInPath(Set<Role>)
    }

    /// - Parameters:
    ///   - call: `PUT /v1/matches/{match}`.
    ///   - access: Who may call.
    ///   - answer: What answers.
    init(_ call: String, _ access: Access, _ answer: @escaping Handler) {
        self.init(call, access, .whole(answer))
    }

    /// A route that reads lines and answers lines.
    init(_ call: String, _ access: Access, lines answer: @escaping LineHandler) {
        self.init(call, access, .lines(answer))
    }

    private init(_ call: String, _ access: Access, _ answer: Answer) {
        let parts = call.split(separator: " ")
        precondition(parts.count == 2, "a route is a method and a path: \(call)")
        method = String(parts[0])
        segments = parts[1].dropFirst().split(separator: "/").map { segment in
            segment.hasPrefix("{") ? .parameter(String(segment.dropFirst().dropLast())) : .literal(String(segment))
        }
        self.access = access
        self.answer = answer
    }

    /// `PUT /v1/matches/{match}`.
    var name: String {
        let path = segments.map { segment in
            switch segment {
            case .literal(let text): "/" + text
            case .parameter(let name): "/{\(name)}"
            }
        }
        return "\(method) \(path.joined())"
    }

    /// The same, with the match's context read while the key is looked up.
    var readingAhead: Route {
        var route = self
        route.readsAhead = true
        return route
    }

    /// The path's parameters, or nil where this is another path.
    func match(_ path: [Substring]) -> [String: Substring]? {
        guard path.count == segments.count else { return nil }
        var parameters: [String: Substring] = [:]
        for (segment, text) in zip(segments, path) {
            switch segment {
            case .literal(let literal): guard text == literal else { return nil }
            case .parameter(let name): parameters[name] = text
            }
        }
        return parameters
    }
}
