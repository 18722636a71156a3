internal import Executables

/// The demo's last table: what became of each version.
struct DemoTable: Sendable {
    /// The answer of `GET /v1/matches/{match}/deliveries`.
    struct Deliveries: Decodable, Sendable {
        let version: Int
        let merged_versions: Int
        let sends: [Send]

        var isDone: Bool { sends.allSatisfy { $0.state == "done" && $0.waiting ?? 0 == 0 } }
    }

    struct Send: Decodable, Sendable {
        let target: String
        let environment: String
        let cadence: String
        /// The first version of the line, and the last.
        let versions: [Int]
        let state: String
        let accepted: Int
        let removed: Int
        let waiting: Int?
    }

    let deliveries: Deliveries
    let script: MatchScript

    /// A row per version that was sent: pushes on channels, accepted update tokens, what was merged into it, and removed.
    var text: String {
        var table = Table(
            ["VERSION", "WHAT", "CHANNEL", "TOKENS", "MERGED", "REMOVED"],
            rightAligned: [0, 2, 3, 4, 5]
        )
        for version in 1...max(1, deliveries.version) {
            let sends = deliveries.sends.filter { $0.versions.last == version }
            let channel = sends.filter { $0.target == "channel" }.reduce(0) { $0 + $1.accepted }
            let tokens = sends.filter { $0.target == "tokens" }.reduce(0) { $0 + $1.accepted }
            let merged = deliveries.sends.filter { skipped($0, version) }.count
            let removed = sends.reduce(0) { $0 + $1.removed }
            table.add(["\(version)", what(version), "\(channel)", "\(tokens)", "\(merged)", "\(removed)"])
        }
        return table.text + "\n(merged: channels and shards of tokens that were sent a newer version instead)"
    }

    /// Whether a line took a newer version up instead of this one.
    private func skipped(_ send: Send, _ version: Int) -> Bool {
        guard let first = send.versions.first, let last = send.versions.last else { return false }
        return first <= version && version < last
    }

    private func what(_ version: Int) -> String {
        // The end is held, and sent as a version of its own.
        guard version <= script.steps.count else { return "the end" }
        let state = script.steps[version - 1].state
        return "\(state.clock) \(state.score)"
    }
}
