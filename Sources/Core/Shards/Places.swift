/// Which shards newcomers get: a row of its own for a match and environment, locked for a short transaction before the
/// registration's.
///
/// A place is a shard, and stays one's own. A phone that goes leaves a hole, which nobody fills before the shard is less
/// than half full. So a bulk of newcomers takes its places by one update, and nobody counts phones.
package struct Places: Equatable, Sendable {
    package static let smallest = 100
    package static let largest = 1000
    /// A new shard takes this part of what is there. Whoever dies with one shard under way repeats no more than this
    /// part of a match's pushes.
    package static let part = 12

    /// How many places have been taken, those that were left again included.
    package var taken: Int
    /// How many shards there are; they are numbered from 0.
    package var shards: Int
    /// The shard that is being filled, and its free places.
    package var open: Int
    package var free: Int

    package init(taken: Int = 0, shards: Int = 0, open: Int = 0, free: Int = 0) {
        self.taken = taken
        self.shards = shards
        self.open = open
        self.free = free
    }

    /// So many places of one shard.
    package struct Share: Equatable, Sendable {
        package var shard: Int
        package var count: Int
        /// The shard does not exist yet: it is made under the match's shared lock, by ``Shard/init(newIn:)``.
        package var isNew: Bool

        package init(shard: Int, count: Int, isNew: Bool) {
            self.shard = shard
            self.count = count
            self.isNew = isNew
        }
    }

    /// Takes places.
    ///
    /// - Parameter count: Of newcomers, such as a thousand lines.
    /// - Returns: Their shards, in the order of the newcomers.
    package mutating func take(_ count: Int) -> [Share] {
        var shares: [Share] = []
        var wanted = count
        while wanted > 0 {
            var isNew = false
            if free == 0 {
                open = shards
                shards += 1
                free = Self.size(after: taken)
                isNew = true
            }
            let share = min(free, wanted)
            shares.append(Share(shard: open, count: share, isNew: isNew))
            free -= share
            wanted -= share
            taken += share
        }
        return shares
    }

    /// Offers a shard's holes, once the shard is less than half full and no other is being filled.
    ///
    /// - Parameters:
    ///   - shard: Its number.
    ///   - phones: How many there are in it.
    ///   - size: How many places it was made with.
    /// - Returns: Whether it is being filled now.
    package mutating func reopen(_ shard: Int, phones: Int, size: Int) -> Bool {
        guard free == 0, phones * 2 < size else { return false }
        open = shard
        free = size - phones
        // The places are counted as left, so that a match whose phones come and go does not grow without end.
        taken = max(0, taken - free)
        return true
    }

    /// The places of a new shard.
    package static func size(after taken: Int) -> Int {
        min(max(taken / part, smallest), largest)
    }
}
