internal import APNsProtocol
internal import EventLoop
internal import Store

/// What APNs answered last, for the targets whose pushes fail: kept here, and written at most once a second.
///
/// People read it where a match is behind. Nothing decides by it, so that what a crash takes along is no loss.
final class LastAnswers: Sendable {
    /// So many are kept until they are written; answers of further targets are dropped, a second's at most.
    private static let maxKept = 10_000
    private let kept = ThreadLock<[AnswerKey: String]>([:])

    /// Keeps the last of `outcomes` that is no acceptance.
    func note(_ outcomes: [Outcome], of key: AnswerKey) {
        guard let answer = outcomes.reversed().lazy.compactMap(\.answer).first else { return }
        kept.withLock { kept in
            guard kept[key] != nil || kept.count < Self.maxKept else { return }
            kept[key] = answer
        }
    }

    /// Writes what was noted since the last call. What cannot be written is dropped: newer answers follow where it matters.
    func write(to store: Store, by deadline: ContinuousClock.Instant) async {
        let answers = kept.withLock { kept in
            defer { kept = [:] }
            return kept
        }
        guard !answers.isEmpty else { return }
        try? await store.keep(lastAnswers: answers, by: deadline)
    }
}
