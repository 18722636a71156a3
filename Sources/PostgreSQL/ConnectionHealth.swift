internal import Synchronization

/// What a connection's owner may know of it from any thread, as of its last call.
package final class ConnectionHealth: Sendable {
    package enum State: UInt8, Sendable {
        /// Outside a transaction, ready for the next call.
        case idle
        case inUse
        /// A transaction was begun and not ended.
        case inTransaction
        /// A statement of the transaction failed: only a rollback is left.
        case inFailedTransaction
        case closed
    }

    private let raw = Atomic<UInt8>(State.inUse.rawValue)

    /// Written by the connection's loop only.
    package internal(set) var state: State {
        get { State(rawValue: raw.load(ordering: .acquiring)) ?? .closed }
        set { raw.store(newValue.rawValue, ordering: .releasing) }
    }
}
