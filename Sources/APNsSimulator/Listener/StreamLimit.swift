/// How many concurrent streams a connection is allowed, as the service was seen to do it: 1 until a request with a valid
/// provider token has been posted, then many; 1 again after a rejected push, until the next one that is accepted.
struct StreamLimit {
    private enum State {
        case unproven  // no valid provider token yet. To: open, lowered.
        case open  // To: lowered.
        case lowered  // a rejection was the last answer. To: open, by a success.
    }

    private let initial: Int
    private let full: Int
    private let lowersOnRejection: Bool
    /// Set by a script.
    private(set) var pinned: Int?
    private var state = State.unproven
    /// A request of this connection was answered.
    private(set) var wasAnswered = false
    /// What the peer was told last.
    private(set) var announced: Int

    init(initial: Int = 1, full: Int, lowersOnRejection: Bool) {
        self.initial = initial
        announced = initial
        self.full = full
        self.lowersOnRejection = lowersOnRejection
    }

    /// A request was answered.
    ///
    /// - Parameters:
    ///   - rejection: Nil for a success.
    ///   - isAuthenticated: Its provider token was valid.
    /// - Returns: The limit to announce, if it changes.
    mutating func answered(_ rejection: Rejection?, isAuthenticated: Bool) -> Int? {
        wasAnswered = true
        if let rejection, rejection.lowersStreamLimit, lowersOnRejection {
            state = .lowered
        } else if rejection == nil {
            state = .open
        } else if state == .unproven, isAuthenticated {
            state = .open
        }
        return change()
    }

    /// A script sets the limit of its own; nil lets the connection follow its answers again.
    mutating func pin(_ limit: Int?) -> Int? {
        pinned = limit
        return change()
    }

    private var current: Int {
        switch state {
        case .unproven: initial
        case .open: full
        case .lowered: 1
        }
    }

    private mutating func change() -> Int? {
        let limit = pinned ?? current
        guard limit != announced else { return nil }
        announced = limit
        return limit
    }
}
