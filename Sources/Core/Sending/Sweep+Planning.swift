extension Sweep {
    /// The rows to read for the next page: `after < row number <= through`. It ends where priority or alert change.
    package struct Range: Equatable, Sendable {
        package var after: Int64
        package var through: Int64

        package init(after: Int64, through: Int64) {
            self.after = after
            self.through = through
        }
    }

    /// What was read: the match first, then the rows, then the highest row number, each with a snapshot of its own.
    /// In this order, a row that is in no page was registered after the match's version could be compared with.
    package struct Page: Equatable, Sendable {
        package var range: Range
        /// The last row of the page; nil if there is none.
        package var lastRow: Int64?
        /// The page holds as many rows as were asked for, so that there may be more.
        package var isFull: Bool
        /// The highest row number of the shard; 0 if it has no rows.
        package var highestRow: Int64

        package init(range: Range, lastRow: Int64?, isFull: Bool, highestRow: Int64) {
            self.range = range
            self.lastRow = lastRow
            self.isFull = isFull
            self.highestRow = highestRow
        }
    }

    /// A page to be sent.
    package struct Plan: Equatable, Sendable {
        package var priority: Int
        package var isUrgent: Bool
        package var isDowngraded: Bool
        package var carriesAlert: Bool
        /// To be stored once the page's outcomes are known.
        package var after: Sweep
    }

    package enum Step: Equatable, Sendable {
        case send(Plan)
        /// Nothing may go yet; the state stays as it was.
        case wait(until: Moment)
        /// The shard has reached the match's version.
        case rest
    }

    package var nextRange: Range {
        guard turn != nil else { return Range(after: cursor, through: .max) }
        var through = limit
        for mark in [turn, lap?.mark, alert] {
            if let mark, mark.wrapped, mark.start > cursor { through = min(through, mark.start) }
        }
        return Range(after: cursor, through: through)
    }

    /// Decides on one page.
    ///
    /// - Parameters:
    ///   - page: What ``nextRange`` led to.
    ///   - head: The match, read before the page.
    ///   - limits: Of the app, for the shard's cadence.
    ///   - now: The database's clock, read with the match.
    /// - Returns: What goes out with this page and the state after it, or why nothing does.
    package func plan(page: Page, head: MatchHead, limits: PacingLimits, now: Moment) -> Step {
        var next = self
        if head.version > next.taken {
            next.taken = head.version
            next.turn = Mark(start: cursor)
            next.limit = max(page.highestRow, page.lastRow ?? 0, cursor)
        }
        guard next.turn != nil else { return .rest }

        next.takeUpAlert(of: head, now: now)
        if let until = next.beginLap(head: head, limits: limits, now: now) { return .wait(until: until) }
        guard let lap = next.lap else { return .rest }

        let carriesAlert = next.alert != nil
        next.advance(past: page)
        return .send(
            Plan(
                priority: lap.priority,
                isUrgent: lap.isUrgent,
                isDowngraded: lap.isDowngraded,
                carriesAlert: carriesAlert,
                after: next
            )
        )
    }

    private mutating func takeUpAlert(of head: MatchHead, now: Moment) {
        guard AlertRule.isPending(head, now: now) else {
            alert = nil
            return
        }
        if head.alertVersion > alertVersion {
            alertVersion = head.alertVersion
            alert = Mark(start: cursor)
        }
    }

    /// Sees that a lap runs.
    ///
    /// - Returns: When one may begin, if not now.
    private mutating func beginLap(head: MatchHead, limits: PacingLimits, now: Moment) -> Moment? {
        let hasNewUrgency = head.urgentVersion > urgentVersion
        guard hasNewUrgency || lap == nil else { return nil }

        urgentVersion = max(urgentVersion, head.urgentVersion)
        let urgency: Pacing.Urgency = head.isEnd ? .end : hasNewUrgency ? .key : .routine
        switch Pacing.decide(urgency, record: pacing, limits: limits, now: now) {
        case .wait(let until):
            return until
        case .send(let priority, _):
            pacing.note(priority: priority, isUrgent: urgency != .routine, at: now)
            lap = Lap(mark: Mark(start: cursor), isUrgent: urgency != .routine, priority: priority)
            return nil
        }
    }

    /// Moves behind the page, ends what has come round, and goes on from the first row after the last.
    private mutating func advance(past page: Page) {
        let end = min(page.range.through, limit)
        cursor = page.isFull ? min(page.lastRow ?? end, end) : end
        endRounds()
        guard turn != nil, cursor >= limit else { return }
        cursor = 0
        turn?.wrapped = true
        lap?.mark.wrapped = true
        alert?.wrapped = true
        endRounds()
    }

    private mutating func endRounds() {
        if let mark = turn, mark.isPassed(at: cursor) {
            turn = nil
            lap = nil
            alert = nil
            reached = taken
            return
        }
        if let mark = lap?.mark, mark.isPassed(at: cursor) { lap = nil }
        if let mark = alert, mark.isPassed(at: cursor) { alert = nil }
    }
}

extension Sweep.Mark {
    fileprivate func isPassed(at cursor: Int64) -> Bool {
        wrapped && cursor >= start
    }
}
