/// The right to work on something alone, for a while. Shards and channels are leased.
///
/// Each claim raises the epoch, and whatever a holder writes is conditional on its epoch. A holder that stalled and
/// comes back writes nothing once somebody else has claimed.
package struct Lease: Equatable, Sendable {
    /// The process that claimed last. It stays after the release: that process may still have the tokens in memory.
    package var owner: String
    package var epoch: Int64
    /// Nil: nobody holds it.
    package var until: Moment?

    package init(owner: String = "", epoch: Int64 = 0, until: Moment? = nil) {
        self.owner = owner
        self.epoch = epoch
        self.until = until
    }

    package func isHeld(at now: Moment) -> Bool {
        until.map { $0 > now } ?? false
    }

    /// - Returns: The lease under a higher epoch; nil while somebody holds it.
    package func claimed(by owner: String, until: Moment, now: Moment) -> Lease? {
        isHeld(at: now) ? nil : Lease(owner: owner, epoch: epoch + 1, until: until)
    }

    package func released() -> Lease {
        Lease(owner: owner, epoch: epoch)
    }
}
