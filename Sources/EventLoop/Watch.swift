internal import CLinux

/// What a watch waits for.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)

    var epollEvents: UInt32 {
        UInt32((contains(.read) ? c_epoll_in | c_epoll_rdhup : 0) | (contains(.write) ? c_epoll_out : 0))
    }
}

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = Readiness(rawValue: 1)
    package static let write = Readiness(rawValue: 2)
    /// The peer has gone, or the descriptor has failed: a read or write says which.
    package static let hangup = Readiness(rawValue: 4)

    init(epollEvents events: UInt32) {
        var readiness: Readiness = []
        if events & UInt32(c_epoll_in) != 0 { readiness.insert(.read) }
        if events & UInt32(c_epoll_out) != 0 { readiness.insert(.write) }
        if events & UInt32(c_epoll_gone | c_epoll_rdhup) != 0 { readiness.insert(.hangup) }
        self = readiness
    }
}

/// A descriptor that a loop watches; ended by ``EventLoop/unwatch(_:)``. Belongs to the loop's thread.
package final class Watch {
    package let descriptor: Int32
    let key: UInt64
    let handler: (Readiness) -> Void
    var interest: Interest
    fileprivate(set) var isActive = true

    fileprivate init(descriptor: Int32, key: UInt64, interest: Interest, handler: @escaping (Readiness) -> Void) {
        self.descriptor = descriptor
        self.key = key
        self.interest = interest
        self.handler = handler
    }
}

/// The watches of one loop by the key that epoll hands back: a slot, and how often the slot was used before, so that an
/// event fetched for a watch that has ended finds nobody.
struct WatchTable {
    static let wakeUpKey = UInt64.max

    private var slots: [Watch?] = []
    private var uses: [UInt32] = []
    private var free: [Int] = []

    mutating func insert(
        descriptor: Int32,
        interest: Interest,
        handler: @escaping (Readiness) -> Void
    ) -> Watch {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count {
            slots.append(nil)
            uses.append(0)
        }
        uses[slot] &+= 1
        let key = UInt64(uses[slot]) << 32 | UInt64(slot)
        let watch = Watch(descriptor: descriptor, key: key, interest: interest, handler: handler)
        slots[slot] = watch
        return watch
    }

    func find(_ key: UInt64) -> Watch? {
        let slot = Int(key & 0xFFFF_FFFF)
        guard slot < slots.count, let watch = slots[slot], watch.key == key else { return nil }
        return watch
    }

    mutating func remove(_ watch: Watch) {
        watch.isActive = false
        let slot = Int(watch.key & 0xFFFF_FFFF)
        slots[slot] = nil
        free.append(slot)
    }
}
