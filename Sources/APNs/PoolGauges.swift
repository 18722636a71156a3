/// What a pool has in hand at one moment; see ``PoolCounts`` for what it has done.
package struct PoolGauges: Equatable, Sendable {
    /// Pushes that wait for a stream.
    package var waiting = 0
    /// Pushes handed to a connection and not yet answered.
    package var inFlight = 0
    package var connections = 0
}
