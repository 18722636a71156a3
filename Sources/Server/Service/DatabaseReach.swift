internal import EventLoop
internal import Log
internal import PostgreSQL

/// Whether PostgreSQL can be reached, as all pools of a process see it: facts in, what is to be said out.
struct DatabaseReach {
    enum Remark: Equatable {
        case lost(String)
        case back(after: Duration)
        /// The others may stand: PostgreSQL ended it, or the network did.
        case connectionLost(String)
        case cannotWrite(String)
        case isFull(String)
    }

    private var lostAt: ContinuousClock.Instant?

    mutating func note(_ event: PoolEvent, now: ContinuousClock.Instant) -> Remark? {
        switch event {
        case .connected:
            guard let lostAt else { return nil }
            self.lostAt = nil
            return .back(after: now - lostAt)
        case .connectFailed(let error):
            guard lostAt == nil else { return nil }
            lostAt = now
            return .lost(error.description)
        case .connectRefused(let error):
            return .isFull(error.description)
        case .callFailed(let error) where error.isAboutWriting:
            return .cannotWrite(error.description)
        case .callFailed(let error):
            // While it is away, each call fails in its turn.
            return lostAt == nil ? .connectionLost(error.description) : nil
        }
    }
}

/// Says in the log how PostgreSQL fares.
final class DatabaseWatch: Sendable {
    private let log: Logger
    private let reach = ThreadLock(DatabaseReach())

    init(log: Logger) { self.log = log }

    func note(_ event: PoolEvent) {
        switch reach.withLock({ $0.note(event, now: .now) }) {
        case nil: break
        case .lost(let reason): log.error("PostgreSQL cannot be reached", ["reason": reason], limit: 3)
        case .back(let duration): log.info("PostgreSQL can be reached again", ["was_away_s": duration], limit: 3)
        case .connectionLost(let reason):
            log.warning("a connection to PostgreSQL was lost", ["reason": reason], limit: 3)
        case .isFull(let reason):
            let words = ["reason": reason] as LogFields
            log.warning("PostgreSQL lets no more connections in: calls wait for each other", words, limit: 1)
        case .cannotWrite(let reason): log.error("PostgreSQL cannot write", ["reason": reason], limit: 3)
        }
    }
}
