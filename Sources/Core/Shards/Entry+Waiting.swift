// While an outage stands (`OutageRule`), or a match is paused, nothing may stay due that is not sent.
extension Entry {
    /// Lets a due entry wait: for the next probe, or for a resumption (nil). Else claims would find it again and again.
    package mutating func postpone(until moment: Moment?, at now: Moment) {
        if isDue(at: now) && !isHeld(at: now) { dueAt = moment }
    }

    /// An outage has ended, or a pause: what waited is looked at once more, and only claims decide what is due.
    package mutating func bringForward(at now: Moment) {
        if !isHeld(at: now) { dueAt = now }
    }
}
