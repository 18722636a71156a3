internal import Core
internal import HTTP2
internal import Store

extension API {
    /// Who calls, and whose rows the call is about.
    struct Principal: Sendable {
        let role: Role
        let tenant: TenantID?
    }

    /// Lets the call pass, or throws `unauthenticated`, `role_not_allowed`, `tenant_required`, `not_found`.
    ///
    /// Another tenant's things do not exist for a tenant's key: not found, never forbidden.
    func authorize(
        _ request: HTTPRequest,
        _ access: Route.Access,
        _ parameters: [String: Substring],
        by deadline: ContinuousClock.Instant
    ) async throws -> Principal {
        if case .open = access { return Principal(role: .read, tenant: nil) }
        let holder = try await holder(request, by: deadline)
        switch access {
        case .open:
            return Principal(role: .read, tenant: nil)
        case .operators:
            guard holder.role == .operator else { throw Self.forbidden(holder.role, []) }
            return Principal(role: .operator, tenant: nil)
        case .tenant(let roles):
            guard holder.role != .operator else {
                return Principal(role: .operator, tenant: try await namedTenant(request, by: deadline))
            }
            if let named = request.fields["touchline-tenant"], named != holder.tenant?.text { throw Self.noTenant }
            guard roles.contains(holder.role) else { throw Self.forbidden(holder.role, roles) }
            return Principal(role: holder.role, tenant: holder.tenant)
        case .tenantInPath(let roles):
            guard let named = TenantID(validating: String(parameters["tenant"] ?? "")) else { throw Self.noTenant }
            guard holder.role == .operator || holder.tenant == named else { throw Self.noTenant }
            guard holder.role == .operator || roles.contains(holder.role) else {
                throw Self.forbidden(holder.role, roles)
            }
            if holder.role == .operator { try await requireTenant(named, by: deadline) }
            return Principal(role: holder.role, tenant: named)
        }
    }

    private func holder(
        _ request: HTTPRequest,
        by deadline: ContinuousClock.Instant
    ) async throws -> Caller {
        let values = request.fields.all("authorization")
        guard values.count == 1 else {
            throw Problem(
                .unauthenticated,
                values.isEmpty ? "there is no Authorization field" : "there is more than one Authorization field",
                hint: "Send Authorization: Bearer tl_…"
            )
        }
        guard let secret = Self.secret(of: request) else {
            throw Problem(
                .unauthenticated,
                "the Authorization field holds no API key",
                hint: "Send Authorization: Bearer tl_<role>_<id>_<secret>."
            )
        }
        guard let holder = try await store.caller(of: secret, by: deadline) else {
            throw Problem(.unauthenticated, "the API key is unknown, expired or revoked")
        }
        if let tenant = holder.tenant { guesses.note(secret, of: tenant) }
        return holder
    }

    private func namedTenant(
        _ request: HTTPRequest,
        by deadline: ContinuousClock.Instant
    ) async throws -> TenantID {
        guard let named = request.fields["touchline-tenant"] else {
            throw Problem(
                .tenantRequired,
                "an operator's key belongs to no tenant",
                hint: "Name the tenant: Touchline-Tenant: t_…"
            )
        }
        guard let tenant = TenantID(validating: named) else { throw Self.noTenant }
        try await requireTenant(tenant, by: deadline)
        return tenant
    }

    private func requireTenant(_ tenant: TenantID, by deadline: ContinuousClock.Instant) async throws {
        guard try await store.tenant(tenant, by: deadline) != nil else { throw Self.noTenant }
    }

    private static let noTenant = Problem(.notFound, "there is no such tenant", field: "tenant")

    private static func forbidden(_ role: Role, _ roles: Set<Role>) -> Problem {
        let allowed = ["operator"] + roles.map(\.rawValue).sorted()
        return Problem(
            .roleNotAllowed,
            "a key of the role \(role.rawValue) may not do this",
            hint: "Use a key of the role \(allowed.joined(separator: " or "))."
        )
    }
}
