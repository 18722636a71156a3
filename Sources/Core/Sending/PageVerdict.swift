/// Whether a page's failures are single tokens', or Apple's.
package enum PageVerdict: Equatable, Sendable {
    /// The cursor moves on; what failed becomes a straggler each.
    case goOn
    /// The cursor stays and the target backs off: an outage must not become a million stragglers.
    case backOff

    /// - Parameters:
    ///   - sent: Pushes of the page.
    ///   - failed: How many of them ended in "later" or "unknown".
    package init(sent: Int, failed: Int) {
        self = sent >= 20 && failed * 10 > sent ? .backOff : .goOn
    }
}
