internal import Core
internal import Store
internal import EventLoop

/// Lets registrations that come one by one share transactions, as a database's group commit does.
///
/// A registration that finds a place free is stored at once. While all places of its tenant are taken, others wait, and go
/// together with the next: nobody waits for more than the transaction in front. There is no task of its own: who takes a
/// place stores for all who wait, and then hands it to the first of those that have come meanwhile.
final class RegistrationDesk: Sendable {
    /// Transactions of one tenant side by side.
    private static let places = 2
    /// Registrations of one transaction.
    private static let most = 500

    private let store: Store
    private let lines = ThreadLock<[TenantID: Line]>([:])

    private struct Line {
        var taken = 0
        var waiting: [Waiter] = []
    }

    private struct Waiter {
        let match: MatchID
        let registration: ActivityRegistration
        let continuation: CheckedContinuation<Turn, Never>
    }

    /// What ends a wait.
    private enum Turn {
        case answered(Result<ActivityAnswer, StoreError>)
        /// The place is the waiter's: it stores its own registration and those.
        case serves([Waiter])
    }

    init(store: Store) { self.store = store }

    /// Stores one registration.
    ///
    /// - Throws: ``StoreError`` of the transaction that it was part of: then nothing of that was stored.
    func register(
        _ registration: ActivityRegistration,
        match: MatchKey,
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> ActivityAnswer {
        let turn = await withCheckedContinuation { continuation in
            let isFree = lines.withLock { lines in
                if lines[match.tenant, default: Line()].taken < Self.places {
                    lines[match.tenant, default: Line()].taken += 1
                    return true
                }
                lines[match.tenant, default: Line()].waiting.append(
                    Waiter(match: match.match, registration: registration, continuation: continuation)
                )
                return false
            }
            if isFree { continuation.resume(returning: Turn.serves([])) }
        }
        switch turn {
        case .answered(let result): return try result.get()
        case .serves(let others): return try await serve(registration, match, others, by: deadline)
        }
    }

    private func serve(
        _ registration: ActivityRegistration,
        _ match: MatchKey,
        _ others: [Waiter],
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> ActivityAnswer {
        let batch = [(match.match, registration)] + others.map { ($0.match, $0.registration) }
        let result: Result<[ActivityAnswer], StoreError>
        do throws(StoreError) {
            result = .success(try await store.register(batch, of: match.tenant, by: deadline))
        } catch {
            result = .failure(error)
        }
        passOn(match.tenant)
        for (index, waiter) in others.enumerated() {
            waiter.continuation.resume(returning: .answered(result.map { $0[index + 1] }))
        }
        return try result.get()[0]
    }

    /// Gives the place to who waits first, with as many of the others as fit into a transaction.
    private func passOn(_ tenant: TenantID) {
        let next = lines.withLock { lines -> [Waiter] in
            guard var line = lines[tenant] else { return [] }
            let next = Array(line.waiting.prefix(Self.most))
            line.waiting.removeFirst(next.count)
            if next.isEmpty { line.taken -= 1 }
            lines[tenant] = line.taken == 0 ? nil : line
            return next
        }
        next.first?.continuation.resume(returning: .serves(Array(next.dropFirst())))
    }
}
