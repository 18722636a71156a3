/// How much of a sweep may be read and not yet committed, which is what a crash sends twice.
struct SweepWindow: Equatable {
    /// Tokens of a page.
    let pageSize: Int
    /// Pages in flight.
    let pages: Int

    /// Pages smaller than this cost more in round trips than they save.
    private static let leastPage = 50
    private static let comfortablePage = 200
    /// The smallest page whose failures can be told from single tokens'.
    private static let smallPage = 20

    /// A twelfth of the shard, so that what a crash doubles stays below a tenth of a small shard too.
    ///
    /// - Parameters:
    ///   - tokens: Of the shard; more than ``enough(_:)`` count as that.
    ///   - configuration: The most that is allowed.
    init(tokens: Int, _ configuration: DispatchConfiguration) {
        let most = configuration.pageSize
        let budget = tokens / configuration.windowShare
        pages = min(max(budget / min(most, Self.comfortablePage), 1), configuration.pagesPerTarget)
        pageSize = min(max(budget / pages, Self.leastPage), most)
    }

    private init(pageSize: Int, pages: Int) {
        self.pageSize = pageSize
        self.pages = pages
    }

    /// Where much of a page failed, a small one tries whether that is over.
    static func trying(_ configuration: DispatchConfiguration) -> SweepWindow {
        SweepWindow(pageSize: min(smallPage, configuration.pageSize), pages: 1)
    }

    /// One push, that tries whether an outage is over.
    static let probe = SweepWindow(pageSize: 1, pages: 1)

    /// How many pushes a crash of the database may take back, beside those under way: few enough to make a tenth of the
    /// shard together, and so many that a sweep does not wait for the disk at each page.
    static func volatilePushes(_ tokens: Int) -> Int { tokens / 64 }

    /// From here on, more tokens make no difference.
    static func enough(_ configuration: DispatchConfiguration) -> Int {
        2 * configuration.windowShare * configuration.pagesPerTarget * configuration.pageSize
    }
}
