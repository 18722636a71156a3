internal import EventLoop
internal import HTTP2

/// Connections that are alive and of no use: they are found out, others stand in for them, and they go.
extension Lane {
    /// Refusals in a row, each with no other stream open, after which a connection is replaced.
    private static let refusalsInARow = 4

    enum Standing {
        case good
        /// It may yet answer its first request.
        case hopeful
        case inDoubt
    }

    func standing(of entry: LaneConnection, now: ContinuousClock.Instant) -> Standing {
        if entry.isInDoubt(now: now) { return .inDoubt }
        // Nobody has asked it for anything yet.
        if entry.isProven || (entry.connection.isReady && entry.connection.openStreams == 0) { return .good }
        // One that does not answer its first request holds up the next for a while only.
        let end = entry.openedAt + configuration.firstAnswerPatience
        guard now < end else { return .inDoubt }
        wake(at: end)
        return .hopeful
    }

    /// Until when pushes had better wait for a connection that is being opened; `nil` while none is.
    func hopeEnds(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var since = connecting > 0 ? connectingSince : nil
        for entry in connections where !entry.connection.isDraining && !entry.isProven && !entry.isInDoubt(now: now) {
            since = max(since ?? entry.openedAt, entry.openedAt)
        }
        return since.map { $0 + configuration.doubtPatience }.flatMap { $0 > now ? $0 : nil }
    }

    /// Opens another connection where all that hold pushes are in doubt, though nothing may wait yet.
    func lookAfter() {
        let now = ContinuousClock.now
        var hasGood = false
        var isWanted = !queue.isEmpty
        for entry in connections where !entry.connection.isDraining {
            if entry.isInDoubt(now: now) {
                isWanted = isWanted || entry.connection.openStreams > 0
            } else {
                if let instant = entry.health.doubtfulFrom { wake(at: instant) }
                hasGood = true
            }
        }
        if isWanted, !hasGood { grow(now: now) }
    }

    /// A request on this connection has met its deadline.
    func metDeadline(_ entry: LaneConnection, writtenAt: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        guard entry.health.deadlinePassed(writtenAt: writtenAt, now: now) == .retire else { return }
        entry.close(unanswered: "no answer to any request within its deadline, though it answers PINGs")
    }

    /// The peer has reset a stream on this connection.
    func wasReset(_ entry: LaneConnection, code: UInt32, now: ContinuousClock.Instant) {
        if code == HTTP2ErrorCode.enhanceYourCalm {
            growth.calm(now: now, random: .random(in: 0..<1))
            entry.pausedUntil = growth.rest.notBefore
        }
        guard entry.health.reset() == .retire else { return }
        entry.close(unanswered: "no answer but resets to twenty requests in a row, the last with code \(code)")
    }

    /// An answer broke HTTP/2's rules: as good as none.
    func wasMalformed(_ entry: LaneConnection) {
        guard entry.health.reset() == .retire else { return }
        entry.close(unanswered: "each of its answers breaks HTTP/2's rules")
    }

    /// The peer has refused a stream. Its limit is learnt by that, unless no other stream was open: then the lane's other
    /// connections go first, for longer each time, and after some times it is replaced.
    func refused(_ entry: LaneConnection, now: ContinuousClock.Instant) {
        guard entry.connection.openStreams == 0 else { return }
        entry.refusals += 1
        entry.pausedUntil = now + Duration.milliseconds(25) * (1 << min(entry.refusals, 6))
        if entry.refusals >= Self.refusalsInARow { entry.retire(.replaced) }
    }
}
