internal import Executables

/// What the service says of a match's pushes, as far as a test needs it.
struct Deliveries: Decodable, Sendable {
    struct Send: Decodable, Sendable {
        let target: String
        let versions: [Int]
        let state: String
        let wanted: Int
        let accepted: Int
        let removed: Int
        let refused: Int
        let given_up: Int
        let waiting: Int
        let resent: Int
        let first_push_ms: Int?
        let last_push_ms: Int?
    }

    let version: Int
    let merged_versions: Int
    let sends: [Send]

    /// Every target has come to the newest version, and nothing waits.
    var isSettled: Bool {
        let targets = Dictionary(grouping: sends, by: \.target)
        return sends.allSatisfy { $0.state == "done" && $0.waiting == 0 }
            && targets.values.allSatisfy { sends in sends.contains { $0.versions.last == version } }
    }
}

extension ServiceStage.Match {
    func deliveries() async throws(Failure) -> Deliveries { try await api.send("GET", path("deliveries")).decode() }

    /// The deliveries once nothing is due any more.
    ///
    /// - Throws: ``Failure`` when that takes longer than `patience`.
    func settledDeliveries(within patience: Duration) async throws(Failure) -> Deliveries {
        let end = ContinuousClock.now + patience
        while true {
            let deliveries = try await deliveries()
            if deliveries.isSettled { return deliveries }
            guard ContinuousClock.now < end, !Task.isCancelled else {
                throw Failure(.failed, "\(id) is not settled after \(patience): pushes still wait")
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}
