/// Notices that most of an app's tokens are refused: then our own environment or topic is wrong, not the phones.
package struct RefusalWatch: Sendable {
    private static let window = Duration.seconds(300)
    private static let slice = Duration.seconds(10)
    /// So many distinct tokens have to be refused.
    private static let least = 50

    private struct Slice {
        let begin: Moment
        var answered = 0
        /// Hashes. A token that is refused, registered again and refused again is still one.
        var refused: Set<Int> = []
    }

    private var slices: [Slice] = []

    package init() {}

    /// Counts pushes to tokens.
    ///
    /// - Parameters:
    ///   - answered: Pushes that APNs answered, those refused included.
    ///   - refused: Hashes of the tokens that it refused.
    ///   - now: Any clock that only goes forward.
    /// - Returns: Whether token sends of the app are to stop: at least 50 distinct tokens and more than half of all
    ///   answers were refusals, within five minutes.
    package mutating func note(answered: Int, refused: [Int], at now: Moment) -> Bool {
        slices.removeAll { $0.begin <= now - Self.window }
        if slices.last.map({ now >= $0.begin + Self.slice }) ?? true { slices.append(Slice(begin: now)) }
        slices[slices.count - 1].answered += answered
        // A set that is full is far beyond what stops an app.
        if slices[slices.count - 1].refused.count < 10_000 { slices[slices.count - 1].refused.formUnion(refused) }
        guard !refused.isEmpty else { return false }
        let distinct = slices.reduce(into: Set<Int>()) { $0.formUnion($1.refused) }.count
        return distinct >= Self.least && distinct * 2 > slices.reduce(0) { $0 + $1.answered }
    }
}
