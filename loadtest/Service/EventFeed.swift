internal import APNs
internal import Core
internal import EventLoop
internal import Executables

/// Posts events at their times, whether or not those before are answered, and takes the time of each from when it was due.
///
/// The matches take turns; each state is one more than the match's last.
struct EventFeed: Sendable {
    let matches: [ServiceStage.Match]
    /// Of all matches.
    let perSecond: Double
    /// In percent; these carry an alert.
    let keyShare: Int
    let latencies = SharedHistogram()
    private let state: ThreadLock<State>

    private struct State {
        var posted = 0
        var failures: [Failure] = []
    }

    init(matches: [ServiceStage.Match], perSecond: Double, keyShare: Int) {
        self.matches = matches
        self.perSecond = perSecond
        self.keyShare = keyShare
        state = ThreadLock(State())
    }

    /// Events that were answered with 202.
    var posted: Int { state.withLock { $0.posted } }

    /// Posts `count` events, or as many as come due until `isOver`; returns when all are answered.
    ///
    /// - Returns: How many each match had.
    /// - Throws: The first ``Failure`` of a post.
    func run(count: Int?, until isOver: @Sendable () -> Bool = { false }) async throws(Failure) -> [Int] {
        let begin = ContinuousClock.now
        var scores = [Int](repeating: 0, count: matches.count)
        await withDiscardingTaskGroup { group in
            var number = 0
            while number < count ?? .max, !isOver(), state.withLock({ $0.failures.isEmpty }) {
                let due = begin + .seconds(Double(number) / perSecond)
                if due > .now { try? await Task.sleep(until: due, clock: .continuous) }
                let index = number % matches.count
                scores[index] += 1
                let score = scores[index]
                // The share is spread evenly, and differs from match to match.
                let isKey = (number * keyShare) % 100 < keyShare
                group.addTask { await post(score, to: matches[index], isKey: isKey, due: due) }
                number += 1
            }
        }
        try check()
        return scores
    }

    /// Ends each match's run with a key event: nothing then waits for a gap to be over.
    ///
    /// - Returns: The state that every phone of each match has to come to.
    func finish(_ scores: [Int]) async throws(Failure) -> [MatchState] {
        await withDiscardingTaskGroup { group in
            for (match, score) in zip(matches, scores) {
                group.addTask { await post(score + 1, to: match, isKey: true, due: .now) }
            }
        }
        try check()
        return zip(matches, scores).map { MatchState(score: $1 + 1, match: $0.number) }
    }

    private func check() throws(Failure) {
        if let failure = state.withLock({ $0.failures.first }) { throw failure }
    }

    private func post(_ score: Int, to match: ServiceStage.Match, isKey: Bool, due: ContinuousClock.Instant) async {
        var event: [(String, JSONOutput)] = [
            ("id", .string("event-\(score)")), ("kind", "update"), ("sequence", .int(score)),
            ("importance", isKey ? "key" : "routine"),
            ("content_state", MatchState(score: score, match: match.number).json),
        ]
        if isKey {
            event.append(("alert", ["title": "Goal!", "body": .string("\(score) in \(match.id)"), "sound": "default"]))
        }
        do throws(Failure) {
            _ = try await match.api.send("POST", match.path("events"), .object(event))
            latencies.record(due.duration(to: .now))
            state.withLock { $0.posted += 1 }
        } catch {
            state.withLock { $0.failures.append(error) }
        }
    }
}

/// A histogram with many writers.
final class SharedHistogram: Sendable {
    private let histogram = ThreadLock(LatencyHistogram())

    func record(_ duration: Duration) { histogram.withLock { $0.record(duration) } }

    var figures: LatencyFigures { LatencyFigures([histogram.withLock { $0 }]) }

    var count: Int { histogram.withLock { $0.count } }
}

extension Result where Success: Sendable, Failure == Executables.Failure {
    /// What `body` returns or throws: an `async let` knows no typed errors.
    static func of(_ body: @Sendable () async throws(Executables.Failure) -> Success) async -> Self {
        do throws(Executables.Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
}
