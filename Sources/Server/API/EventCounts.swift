internal import Core
internal import Synchronization

/// How many events this process has answered, by what became of them.
final class EventCounts: Sendable {
    enum Status: String, CaseIterable {
        case accepted
        /// Accepted, superseded or ignored before, and sent again.
        case replayed
        case superseded
        case ignored
        /// Answered by a 4xx, or as a refused line.
        case refused
        /// Answered by a 5xx.
        case failed
    }

    private let accepted = Atomic(0)
    private let replayed = Atomic(0)
    private let superseded = Atomic(0)
    private let ignored = Atomic(0)
    private let refused = Atomic(0)
    private let failed = Atomic(0)

    func add(_ status: Status, _ number: Int = 1) {
        switch status {
        case .accepted: accepted.add(number, ordering: .relaxed)
        case .replayed: replayed.add(number, ordering: .relaxed)
        case .superseded: superseded.add(number, ordering: .relaxed)
        case .ignored: ignored.add(number, ordering: .relaxed)
        case .refused: refused.add(number, ordering: .relaxed)
        case .failed: failed.add(number, ordering: .relaxed)
        }
    }

    var values: [(Status, Int)] {
        [
            (.accepted, accepted.load(ordering: .relaxed)), (.replayed, replayed.load(ordering: .relaxed)),
            (.superseded, superseded.load(ordering: .relaxed)), (.ignored, ignored.load(ordering: .relaxed)),
            (.refused, refused.load(ordering: .relaxed)), (.failed, failed.load(ordering: .relaxed)),
        ]
    }
}
