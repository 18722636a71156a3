internal import Executables

/// One look at a match: what the service says of it, and of what keeps its pushes back.
struct MatchLook: Sendable {
    let api: APIClient
    let match: String

    private var path: String { AdminCommand.path("matches", match) }

    /// - Throws: ``Failure`` when the match is not there, or the service does not answer within ten seconds.
    func watched() async throws(Failure) -> WatchedMatch {
        let answer = try await api.send("GET", path, timeout: .seconds(10))
        return try WatchedMatch(match: answer, deliveries: try await deliveries(), apps: try await apps())
    }

    /// What became of its versions; nil where the key may not see it.
    func deliveries() async throws(Failure) -> APIClient.Answer? { try await ifAllowed("\(path)/deliveries") }

    /// The tenant's apps; nil where the key may not list them.
    func apps() async throws(Failure) -> APIClient.Answer? { try await ifAllowed("/v1/apps?limit=1000") }

    private func ifAllowed(_ path: String) async throws(Failure) -> APIClient.Answer? {
        do throws(Failure) {
            return try await api.send("GET", path, timeout: .seconds(10))
        } catch {
            guard error.kind == .notAllowed else { throw error }
            return nil
        }
    }
}
