/// Going round the update tokens of a shard: a plain state machine over row numbers.
///
/// A newer version is taken up at the next page, and the turn ends where it was taken up, one full round later:
/// starting again from the first token would starve the last ones for as long as events keep coming. Urgency and an
/// alert last for one round of their own, from the page at which they were taken up. A round between two decisions of
/// ``Pacing`` is a *lap*: no token is sent to twice within one.
///
/// Facts come in through ``plan(page:head:limits:now:)``; what is sent, and the state after it, comes out. The state is
/// stored with the page's outcomes, pages in order, so that a successor goes on from the last page whose outcome is known.
package struct Sweep: Equatable, Sendable {
    /// A place where a round began; passed once the sweep has wrapped and comes to `start` again.
    package struct Mark: Equatable, Sendable {
        package var start: Int64
        package var wrapped: Bool

        package init(start: Int64, wrapped: Bool = false) {
            self.start = start
            self.wrapped = wrapped
        }
    }

    /// A round that was decided on at once: its priority holds for all of it.
    package struct Lap: Equatable, Sendable {
        package var mark: Mark
        package var isUrgent: Bool
        package var priority: Int

        package init(mark: Mark, isUrgent: Bool, priority: Int) {
            self.mark = mark
            self.isUrgent = isUrgent
            self.priority = priority
        }

        /// A key version that goes at priority 5, its allowance being used up.
        package var isDowngraded: Bool {
            isUrgent && priority != 10
        }
    }

    /// The version that every token of the shard has been sent, or a newer one.
    package var reached: Int64
    /// The version of the running turn; `reached` while none runs.
    package var taken: Int64
    /// The newest key version taken up.
    package var urgentVersion: Int64
    /// The newest alert taken up, by the version that brought it.
    package var alertVersion: Int64
    /// The row number up to which the round has come.
    package var cursor: Int64
    /// The highest row number when the version was taken up. Rows above are stragglers, if they are behind at all.
    package var limit: Int64
    /// Where the version was taken up; nil while no turn runs.
    package var turn: Mark?
    package var lap: Lap?
    /// Where the alert was taken up; nil while none is carried.
    package var alert: Mark?
    package var pacing: PacingRecord

    package init(
        reached: Int64 = 0,
        taken: Int64? = nil,
        urgentVersion: Int64 = 0,
        alertVersion: Int64 = 0,
        cursor: Int64 = 0,
        limit: Int64 = 0,
        turn: Mark? = nil,
        lap: Lap? = nil,
        alert: Mark? = nil,
        pacing: PacingRecord = PacingRecord()
    ) {
        self.reached = reached
        self.taken = taken ?? reached
        self.urgentVersion = urgentVersion
        self.alertVersion = alertVersion
        self.cursor = cursor
        self.limit = limit
        self.turn = turn
        self.lap = lap
        self.alert = alert
        self.pacing = pacing
    }
}
