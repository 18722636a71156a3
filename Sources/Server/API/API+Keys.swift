internal import Core
internal import HTTP2
internal import Store

extension API {
    /// The secret is in this answer and nowhere else.
    func createKey(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let body = try call.object("role", "expires_at")
        let role = try body.choice("role", Role.self)
        guard role != .operator else {
            throw Problem(
                .invalidField,
                "an operator's key belongs to no tenant",
                field: "role",
                hint: "touchline key bootstrap makes one, straight in the database."
            )
        }
        let expiresAt = try body.optionalTime("expires_at")
        if let expiresAt, expiresAt <= call.now {
            throw Problem(.invalidField, "expires_at lies in the past", field: "expires_at")
        }
        let made = try await store.createKey(role, of: call.tenant, expiresAt: expiresAt, by: call.deadline)
        guard let secret = made else { throw Problem(.notFound, "there is no such tenant", field: "tenant") }
        var response = HTTPResponse.json(
            201,
            [
                "key": .string(secret.id.text), "role": .string(role.rawValue), "secret": .string(secret.text),
                "expires_at": .time(expiresAt),
            ]
        )
        response.fields.set("cache-control", "no-store")
        return response
    }

    func listKeys(_ call: Call) async throws -> HTTPResponse {
        let paging = try Paging(call, parts: 1)
        let keys = try await store.keys(
            of: call.tenant,
            after: paging.after?[0],
            limit: paging.limit + 1,
            by: call.deadline
        )
        return .page(Page(keys, limit: paging.limit), place: { [$0.id.text] }) { key in
            [
                "key": .string(key.id.text), "role": .string(key.role.rawValue), "created_at": .time(key.createdAt),
                "expires_at": .time(key.expiresAt), "revoked_at": .time(key.revokedAt),
            ]
        }
    }

    func revokeKey(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let id: APIKeyID = try call.parameter("key")
        guard try await store.revokeKey(id, of: call.tenant, by: call.deadline) else {
            throw Problem(.notFound, "there is no such key", field: "key")
        }
        return .noContent
    }
}
