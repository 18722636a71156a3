internal import Executables

/// The control API of a simulator, as far as the load tester uses it.
struct SimulatorControl: Sendable {
    let api: APIClient

    init(_ ready: SimulatorReady) throws(Failure) {
        api = try .connecting(to: ready.control, key: nil, patience: .seconds(5))
    }

    /// What the simulator counted.
    struct Counts: Decodable, Sendable {
        var requests: [String: Int]
        var answers: [String: Int]
        var connections: Int
        var doubled: Int?
        var doubled_ids: Int?
        var stream_limit_broken: Int?
        var reordered: Int?
        var ids_forgotten: Int?

        /// What came since `before`.
        func since(_ before: Counts) -> Counts {
            var counts = self
            counts.requests = requests.merging(before.requests) { $0 - $1 }.filter { $0.value != 0 }
            counts.answers = answers.merging(before.answers) { $0 - $1 }.filter { $0.value != 0 }
            counts.connections -= before.connections
            counts.doubled = doubled.map { $0 - (before.doubled ?? 0) }
            counts.doubled_ids = doubled_ids.map { $0 - (before.doubled_ids ?? 0) }
            counts.reordered = reordered.map { $0 - (before.reordered ?? 0) }
            return counts
        }
    }

    func counts() async throws(Failure) -> Counts { try await api.send("GET", "/_sim/counts").decode() }

    /// Takes `{"rules":[…]}`.
    func setFaults(_ json: [UInt8]) async throws(Failure) { _ = try await api.send("PUT", "/_sim/faults", bytes: json) }
}
