internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    func createTenant(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let name = try Self.name(try call.object("name"), isRequired: true)
        let tenant = try await store.createTenant(name: name ?? "", by: call.deadline)
        return .json(201, tenant.json)
    }

    func listTenants(_ call: Call) async throws -> HTTPResponse {
        let paging = try Paging(call, parts: 1)
        let after = paging.after.flatMap { TenantID(validating: $0[0]) }
        let page = try await store.tenants(after: after, limit: paging.limit, by: call.deadline)
        return .page(page, place: { [$0.id.text] }, \.json)
    }

    func showTenant(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        guard let tenant = try await store.tenant(call.tenant, by: call.deadline) else { throw Self.noSuchTenant }
        return .json(200, tenant.json)
    }

    func changeTenant(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        guard let id = TenantID(validating: String(call.parameters["tenant"] ?? "")) else { throw Self.noSuchTenant }
        let body = try call.object("name", "paused")
        let name = try Self.name(body, isRequired: false)
        let isPaused = try body.optionalBool("paused")
        let changed = try await store.changeTenant(id, name: name, isPaused: isPaused, by: call.deadline)
        guard let changed else { throw Self.noSuchTenant }
        if isPaused == false { try await resumeApps(of: id, call) }
        return .json(200, changed.json)
    }

    /// What came in during a pause is due now.
    private func resumeApps(of tenant: TenantID, _ call: Call) async throws {
        var after: (String, String)?
        repeat {
            let page = try await store.apps(of: tenant, after: after, limit: 100, by: call.deadline)
            for app in page.items { try await store.markBehind(app.key, by: call.deadline) }
            after = page.hasMore ? page.items.last.map { ($0.key.bundle.text, $0.key.environment.rawValue) } : nil
        } while after != nil
        wake()
    }

    private static let noSuchTenant = Problem(.notFound, "there is no such tenant", field: "tenant")

    private static func name(_ body: ObjectReader, isRequired: Bool) throws(Problem) -> String? {
        let name = isRequired ? try body.string("name") : try body.optionalString("name")
        guard let name else { return nil }
        guard (1...200).contains(name.utf8.count) else {
            throw Problem(.invalidField, "name must have 1 to 200 bytes", field: "name")
        }
        return name
    }
}

extension TenantRecord {
    fileprivate var json: JSONOutput {
        [
            "tenant": .string(id.text), "name": .string(name), "paused": .bool(pausedAt != nil),
            "created_at": .time(createdAt),
        ]
    }
}
