/// What the first pushes of a connection tie it to: a team, a key, and how often its provider token may change.
struct ConnectionBinding {
    /// A new provider token is taken at most once in this time on one connection. The token that opens it is no change.
    static let secondsBetweenUpdates: Int64 = 20 * 60
    private static let mostTokens = 64

    private var teamID: String?
    private var keyID: String?
    private var tokens: [String] = []  // texts of those already taken, the oldest first
    private var lastUpdate: Int64?

    enum Fault {
        case otherKey
        case tooManyUpdates
    }

    /// Whether a verified token may be used on this connection, and remembers it if so.
    ///
    /// - Parameters:
    ///   - token: What its text says.
    ///   - text: The header's value.
    ///   - now: UNIX seconds.
    /// - Returns: Why it may not be used, or nil.
    mutating func admit(_ token: VerifiedToken, text: String, now: Int64) -> Fault? {
        if tokens.last == text { return nil }
        if let teamID, teamID != token.teamID { return .otherKey }
        if let keyID, keyID != token.keyID { return .otherKey }
        teamID = token.teamID
        keyID = token.keyID
        if tokens.contains(text) { return nil }
        if !tokens.isEmpty {
            if let lastUpdate, now - lastUpdate < Self.secondsBetweenUpdates { return .tooManyUpdates }
            lastUpdate = now
        }
        if tokens.count == Self.mostTokens { tokens.removeFirst() }
        tokens.append(text)
        return nil
    }
}
