internal import EventLoop

/// Decides which of a host's addresses are tried when: the next one when the last has failed, or has not answered for a
/// moment (RFC 8305, 5). An address that swallows what is sent to it costs that moment and not a time-out.
struct AddressRace {
    /// RFC 8305, 8 recommends it.
    static let delay = Duration.milliseconds(250)

    private let count: Int
    private var next = 0
    private var running = 0
    /// When the next address is tried beside those that are under way.
    private(set) var nextStart: ContinuousClock.Instant?

    init(count: Int) { self.count = count }

    /// Whether all addresses have failed.
    var isLost: Bool { running == 0 && next == count }

    /// The address to begin with now, if one is due; asked again until there is none.
    mutating func start(now: ContinuousClock.Instant) -> Int? {
        guard next < count, running == 0 || nextStart.map({ now >= $0 }) ?? true else { return nil }
        defer { next += 1 }
        running += 1
        nextStart = next + 1 < count ? now + Self.delay : nil
        return next
    }

    /// One that was under way has failed: the next need not wait.
    mutating func failed() {
        precondition(running > 0, "an address failed and none was tried")
        running -= 1
        if next < count { nextStart = nil }
    }

    /// The addresses with their families in turn, beginning with the first one's (RFC 8305, 4): one family may be dead as a
    /// whole.
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        let same = addresses.filter { $0.family == first.family }
        let others = addresses.filter { $0.family != first.family }
        return (0..<max(same.count, others.count)).flatMap { index in
            [same, others].compactMap { index < $0.count ? $0[index] : nil }
        }
    }
}
