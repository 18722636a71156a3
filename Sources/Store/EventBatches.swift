internal import Core
internal import EventLoop

/// Gathers single events into common transactions: under load a commit's wait for the disk is shared by those that came
/// during the one before. An event that finds nobody at work goes at once, alone.
///
/// Whoever comes first leads: it takes along what waits, at most 64, and hands on the lead to the first of the rest. At most
/// two lead at a time, so that other calls find connections. What waits is bounded by the requests that the server has.
final class EventBatches: Sendable {
    struct Entry: Sendable {
        let tenant: TenantID
        let incoming: IncomingEvent
        let endHold: Duration

        /// Sorts by tenant and match.
        var place: [UInt8] { Array(tenant.text.utf8) + [0] + Array(incoming.match.text.utf8) }
    }

    private static let mostLeaders = 2
    private static let mostAtOnce = 64

    private enum Turn: Sendable {
        case lead
        case done(Result<EventOutcome, StoreError>)
    }

    private struct Waiting {
        let entry: Entry
        let continuation: CheckedContinuation<Turn, Never>
    }

    private struct State {
        var leaders = 0
        var waiting: [Waiting] = []
    }

    private let state = ThreadLock(State())

    /// Has `entry` accepted, alone or with others.
    ///
    /// - Parameters:
    ///   - entry: One event.
    ///   - run: Accepts some in one transaction: an answer for each, in order.
    /// - Returns: The answer to `entry`.
    /// - Throws: What the transaction failed with.
    func accept(
        _ entry: Entry,
        _ run: ([Entry]) async -> [Result<EventOutcome, StoreError>]
    ) async throws(StoreError) -> EventOutcome {
        let turn = await withCheckedContinuation { continuation in
            let isLeader = state.withLock { state in
                guard state.leaders >= Self.mostLeaders else {
                    state.leaders += 1
                    return true
                }
                state.waiting.append(Waiting(entry: entry, continuation: continuation))
                return false
            }
            if isLeader { continuation.resume(returning: .lead) }
        }
        switch turn {
        case .done(let result): return try result.get()
        case .lead: return try await lead(entry, run).get()
        }
    }

    private func lead(
        _ entry: Entry,
        _ run: ([Entry]) async -> [Result<EventOutcome, StoreError>]
    ) async -> Result<EventOutcome, StoreError> {
        let others = state.withLock { state in
            let others = Array(state.waiting.prefix(Self.mostAtOnce - 1))
            state.waiting.removeFirst(others.count)
            return others
        }
        let results = await run([entry] + others.map(\.entry))
        precondition(results.count == others.count + 1, "\(results.count) answers to \(others.count + 1) events")
        let next = state.withLock { state -> Waiting? in
            if state.waiting.isEmpty {
                state.leaders -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.continuation.resume(returning: .lead)
        for (other, result) in zip(others, results.dropFirst()) { other.continuation.resume(returning: .done(result)) }
        return results[0]
    }
}
