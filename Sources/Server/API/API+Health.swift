internal import Core
internal import HTTP2
internal import Store

extension API {
    /// The process runs.
    func health(_ call: Call) -> HTTPResponse { .json(200, ["status": "ok"]) }

    /// The process can serve: PostgreSQL answers, takes writes and has room.
    func readiness(_ call: Call) async throws -> HTTPResponse {
        try await store.checkReadiness(by: call.deadline)
        return .json(200, ["status": "ready"])
    }
}
