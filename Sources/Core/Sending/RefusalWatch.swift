/// Notices that most of an app's tokens are refused: then our own environment or topic is wrong, not the phones.
package struct RefusalWatch: Sendable {
    private static let window = Duration.seconds(300)
    private static let slice = Duration.seconds(10)
    /// So many distinct tokens have to be refused.
    private static let least = 50

    private var slices: [(begin: Moment, sent: Int, refused: Int)] = []

    package init() {}

    /// Counts pushes to distinct tokens. A refused token is set aside, hence it is counted once.
    ///
    /// - Parameters:
    ///   - sent: Pushes that APNs answered.
    ///   - refused: Those of them that it refused for their token.
    ///   - now: Any clock that only goes forward.
    /// - Returns: Whether token sends of the app are to stop.
    package mutating func note(sent: Int, refused: Int, at now: Moment) -> Bool {
        slices.removeAll { $0.begin <= now - Self.window }
        if let last = slices.last, now < last.begin + Self.slice {
            slices[slices.count - 1].sent += sent
            slices[slices.count - 1].refused += refused
        } else {
            slices.append((now, sent, refused))
        }
        let refusals = slices.reduce(0) { $0 + $1.refused }
        return refusals >= Self.least && refusals * 2 > slices.reduce(0) { $0 + $1.sent }
    }
}
