/// What a person did wrong, or what they have to wait for, and what to do next.
///
/// Becomes the RFC 9457 answer of the API and the error text of the command line. Texts name fields and values that
/// were refused, never secrets, tokens or content states.
package struct Problem: Error, Equatable, Sendable {
    /// Stable, for programs.
    package let code: Code
    /// What was refused.
    package var detail: String
    /// The JSON path at fault: `content_state.kickoff`.
    package var field: String?
    /// The next step.
    package var hint: String?
    /// Of ``Code/payloadTooLarge`` and ``Code/bodyTooLarge``.
    package var excess: SizeExcess?
    /// The value of `Retry-After`, in seconds.
    package var retryAfterSeconds: Int?
    /// Where one code stands for several of HTTP's: 414, 417, 431, 501 and 505 are all requests that cannot be understood.
    package var ownStatus: Int?

    /// HTTP's.
    package var status: Int { ownStatus ?? code.status }

    package init(
        _ code: Code,
        _ detail: String,
        field: String? = nil,
        hint: String? = nil,
        excess: SizeExcess? = nil,
        retryAfterSeconds: Int? = nil
    ) {
        self.code = code
        self.detail = detail
        self.field = field
        self.hint = hint
        self.excess = excess
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// By how much something is too big, and for what.
    package struct SizeExcess: Equatable, Sendable {
        package let size: Int
        package let limit: Int
        /// `token`, `broadcast`, `activity_data` or `alert`; nil: of a body.
        package let route: String?

        package init(size: Int, limit: Int, route: String? = nil) {
            self.size = size
            self.limit = limit
            self.route = route
        }
    }
}

extension Problem {
    /// The members of the RFC 9457 answer.
    package var json: JSONOutput {
        var members: [(String, JSONOutput)] = [
            ("type", .string("urn:touchline:problem:" + code.rawValue)),
            ("title", .string(code.title)),
            ("status", .int(status)),
            ("code", .string(code.rawValue)),
            ("detail", .string(detail)),
        ]
        if let field { members.append(("field", .string(field))) }
        if let hint { members.append(("hint", .string(hint))) }
        if let excess {
            members += [("size", .int(excess.size)), ("limit", .int(excess.limit))]
            if let route = excess.route { members.append(("route", .string(route))) }
        }
        return .object(members)
    }

    /// The same problem, one level further out: `home` becomes `content_state.home`.
    package func within(_ path: String) -> Problem {
        var problem = self
        problem.field = field.map { $0.hasPrefix("[") ? path + $0 : path + "." + $0 } ?? path
        return problem
    }
}
