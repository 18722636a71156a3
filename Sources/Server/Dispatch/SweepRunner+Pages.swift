internal import APNs
internal import APNsProtocol
internal import Core
internal import Store

// A page, from its reading to the outcomes of its pushes.
extension SweepRunner {
    /// A page on its way.
    struct Page: Sendable {
        let place: Int
        let plan: Sweep.Plan
        let state: MatchState
        let rows: [TokenRow]
        /// How many at the end of `rows` are sent to without the alert that the others get.
        let quiet: Int
        let expired: [TokenRow]
        /// How many more have the version already, from when the page was sent before.
        let passed: Int
        let range: Sweep.Range
        let composition: PushComposition
        let readAt: ContinuousClock.Instant
    }

    /// A page whose outcomes are known.
    struct SentPage: Sendable {
        let page: Page
        let outcomes: [Outcome]
        let firstPushAt: Moment
        let lastPushAt: Moment
        let took: Duration
    }

    /// Sends a page: with the alert to those that have not had it, without to the others.
    static func send(_ page: Page, context: DispatchContext) async -> SentPage {
        let begin = page.state.now + (.now - page.readAt)
        guard !page.rows.isEmpty else {
            return SentPage(page: page, outcomes: [], firstPushAt: begin, lastPushAt: begin, took: .zero)
        }
        let sentAt = ContinuousClock.now
        let deadline = sentAt + context.configuration.pushDeadline
        let hearing = Array(page.rows.dropLast(page.quiet))
        async let loud = context.pool.send(page.composition.batch(hearing, deadline: deadline))
        var outcomes: [Outcome] = []
        if page.quiet > 0 {
            let rows = Array(page.rows.suffix(page.quiet))
            outcomes = await context.pool.send(page.composition.withoutAlert.batch(rows, deadline: deadline))
        }
        outcomes = await loud + outcomes
        let end = page.state.now + (.now - page.readAt)
        return SentPage(
            page: page,
            outcomes: outcomes,
            firstPushAt: begin,
            lastPushAt: end,
            took: .now - sentAt
        )
    }
}
