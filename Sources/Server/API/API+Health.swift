internal import Core
internal import HTTP2
internal import Store

extension API {
    /// The process runs.
    func health(_ call: Call) -> HTTPResponse { .json(200, ["status": "ok"]) }

    /// The process can serve: PostgreSQL answers.
    func readiness(_ call: Call) async throws -> HTTPResponse {
        _ = try await store.owner(by: call.deadline, "SELECT 1")
        return .json(200, ["status": "ready"])
    }
}
