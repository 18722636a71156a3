/// Whether a page's failures are single tokens', or those of most.
package enum PageVerdict: Equatable, Sendable {
    /// The cursor moves on; what failed becomes a straggler each.
    case goOn
    /// The cursor stays and the target backs off: an outage in part must not become a million stragglers.
    case backOff

    /// Whoever can be served is served: only where more fail than not does everybody behind the page wait for a moment.
    ///
    /// - Parameters:
    ///   - sent: Pushes of the page.
    ///   - failed: How many of them ended in "later" or "unknown".
    package init(sent: Int, failed: Int) {
        self = sent >= 20 && failed * 2 > sent ? .backOff : .goOn
    }
}
