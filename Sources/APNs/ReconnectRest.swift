/// Decides how long a lane rests before its next connection: the longer, the less the last ones yielded.
struct ReconnectRest: Sendable {
    /// What a connection was good for.
    enum Yield: Equatable {
        /// It did not come about, or took nothing: the rest doubles.
        case none
        /// It took a push or a few: the rest doubles twice. A goal that goes to a channel is one push.
        case little
        /// It took some: connections are as frequent as they may be.
        case some
        case plenty

        /// - Parameters:
        ///   - taken: Pushes that it took.
        ///   - life: From its opening to its end.
        init(taken: Int, life: Duration) {
            if taken >= ReconnectRest.plenty || (taken > 0 && life >= ReconnectRest.longLife) {
                self = .plenty
            } else {
                self = taken >= 4 ? .some : taken > 0 ? .little : .none
            }
        }
    }

    /// Pushes after which a connection has shown that it is worth its handshake.
    static let plenty = 100
    /// A connection that lived so long is replaced at once.
    static let longLife = Duration.seconds(10)
    /// What was is forgotten after this time.
    private static let memory = Duration.seconds(60)
    /// Doublings at which the rest takes seconds.
    private static let calmLevel = 5

    private let first: Duration
    private let most: Duration
    /// How often the rest has been doubled, from 1; 0: none is due.
    private var level = 0
    private var raisedAt: ContinuousClock.Instant?
    private(set) var notBefore: ContinuousClock.Instant?
    /// The lane has had a connection that yielded plenty, and none since that did not.
    private(set) var isTrusted = false

    /// - Parameters:
    ///   - first: The shortest rest.
    ///   - most: The longest, to which up to a half is added.
    init(first: Duration, most: Duration) {
        self.first = first
        self.most = most
    }

    /// A connection is about to be opened: the next one beside it waits too, while there is reason to rest.
    mutating func opening(now: ContinuousClock.Instant, random: Double) {
        forget(now: now)
        if level > 0 { rest(now: now, random: random) }
    }

    /// A connection was ended by the peer or the network, or could not be opened.
    ///
    /// - Parameters:
    ///   - yield: What it was good for.
    ///   - began: When it was begun: of several that end together only the first counts.
    ///   - now: The clock.
    ///   - random: Uniform in 0 ..< 1, so that many processes do not come back together.
    mutating func ended(
        _ yield: Yield,
        began: ContinuousClock.Instant,
        now: ContinuousClock.Instant,
        random: Double
    ) {
        guard yield != .plenty else { return }
        isTrusted = false
        forget(now: now)
        let isNews = raisedAt.map { began >= $0 } ?? true
        if isNews {
            level = min(level + 1, Self.highestLevel(after: yield))
            raisedAt = now
        }
        if isNews || notBefore == nil { rest(now: now, random: random) }
    }

    /// The peer asked for quiet: seconds, and longer each time.
    mutating func calm(now: ContinuousClock.Instant, random: Double) {
        isTrusted = false
        if let notBefore, now < notBefore, level >= Self.calmLevel { return }
        level = max(level + 1, Self.calmLevel)
        raisedAt = now
        rest(now: now, random: random)
    }

    /// A connection has taken as many pushes as are plenty.
    mutating func yielded() {
        isTrusted = true
        level = 0
        notBefore = nil
    }

    mutating func hold(until instant: ContinuousClock.Instant) { notBefore = max(notBefore ?? instant, instant) }

    /// Whatever was, a connection may be had at `instant`.
    mutating func resume(at instant: ContinuousClock.Instant) {
        level = 0
        notBefore = instant
    }

    private static func highestLevel(after yield: Yield) -> Int {
        switch yield {
        case .none: .max
        case .little: 3
        case .some: 1
        case .plenty: 0
        }
    }

    private mutating func forget(now: ContinuousClock.Instant) {
        if let raisedAt, now - raisedAt >= Self.memory { level = 0 }
    }

    private mutating func rest(now: ContinuousClock.Instant, random: Double) {
        let doubled = min(first * (1 << min(level - 1, 20)), most)
        let end = now + doubled * (1 + random / 2)
        notBefore = max(notBefore ?? end, end)
    }
}
