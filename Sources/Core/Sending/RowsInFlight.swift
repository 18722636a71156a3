/// The rows whose pushes are under way, page by page.
///
/// A newer version is taken up in the middle of a turn, so that a sweep can come round to a page whose pushes are still
/// under way. Phones ignore what arrives behind a newer stamp, and an alert with it: such a page's rows wait for its
/// outcomes.
package struct RowsInFlight: Equatable, Sendable {
    private var pages: [Int: Sweep.Range] = [:]

    package init() {}

    /// - Parameters:
    ///   - page: Which one.
    ///   - lastRow: Its last; nil: it has none.
    ///   - range: That it was read from.
    package mutating func begin(_ page: Int, through lastRow: Int64?, of range: Sweep.Range) {
        guard let lastRow else { return }
        pages[page] = Sweep.Range(after: range.after, through: lastRow)
    }

    /// The page's outcomes are known.
    package mutating func end(_ page: Int) {
        pages[page] = nil
    }

    /// - Returns: The beginning of `range` that none of them is in; nil: there is none.
    package func free(of range: Sweep.Range) -> Sweep.Range? {
        var free = range
        for page in pages.values where page.through > range.after {
            guard page.after > range.after else { return nil }
            free.through = min(free.through, page.after)
        }
        return free
    }
}
