package import Core
internal import PostgreSQL

/// A target that this process holds the lease of.
package struct TargetRecord: Sendable {
    package let key: TargetKey
    /// Rises with every claim; every write of a holder is conditional on it.
    package let epoch: Int64
    /// It lacked a key version when it was claimed.
    package let isUrgent: Bool
    package var sweep: Sweep
    /// Failures in a row that made the whole target wait.
    package var backoff: Int
    /// Of the running turn.
    package var counts: TurnCounts

    package init(
        key: TargetKey,
        epoch: Int64,
        isUrgent: Bool,
        sweep: Sweep,
        backoff: Int,
        counts: TurnCounts
    ) {
        self.key = key
        self.epoch = epoch
        self.isUrgent = isUrgent
        self.sweep = sweep
        self.backoff = backoff
        self.counts = counts
    }
}

/// What became of a turn's pushes.
package struct TurnCounts: Equatable, Sendable {
    package var wanted = 0
    package var accepted = 0
    /// Tokens that were dead and are gone.
    package var removed = 0
    /// Tokens set aside, and pushes refused for another reason.
    package var refused = 0
    /// Tokens that will get no further push of this version.
    package var givenUp = 0
    /// Sent again after an unknown outcome or a crash: possible duplicates.
    package var resent = 0
    /// Key pushes that went at priority 5.
    package var downgraded = 0
    /// Phones that a newer version reached instead.
    package var merged = 0
    /// Left to a push of their own, and counted with those.
    package var handed = 0
    /// Since when pacing has held the version back; nil: it has not.
    package var heldAt: Moment?
    /// The database's clock.
    package var firstPushAt: Moment?
    package var lastPushAt: Moment?

    package init() {}

    /// Pacing holds the version back that is next, from now on if it does not already.
    package mutating func hold(since now: Moment) {
        guard let heldAt, heldAt > lastPushAt ?? Moment(milliseconds: 0) else {
            self.heldAt = now
            return
        }
    }

    package static func += (left: inout TurnCounts, right: TurnCounts) {
        left.wanted += right.wanted
        left.accepted += right.accepted
        left.removed += right.removed
        left.refused += right.refused
        left.givenUp += right.givenUp
        left.resent += right.resent
        left.downgraded += right.downgraded
        left.merged += right.merged
        left.handed += right.handed
        left.heldAt = [left.heldAt, right.heldAt].compactMap { $0 }.min()
        left.firstPushAt = [left.firstPushAt, right.firstPushAt].compactMap { $0 }.min()
        left.lastPushAt = [left.lastPushAt, right.lastPushAt].compactMap { $0 }.max()
    }
}

extension TurnCounts {
    static let columns = """
        wanted, accepted, removed, refused, given_up, resent, downgraded, merged, handed, held_at, first_push_at, \
        last_push_at
        """
    static let columnCount = 12

    /// ``columns`` as parameters from `first` on, each with its type.
    static func casts(from first: Int) -> String {
        let types = Array(repeating: "integer", count: 9) + Array(repeating: "timestamptz", count: 3)
        return types.enumerated().map { "$\(first + $0)::\($1)" }.joined(separator: ", ")
    }

    init(_ row: PGRow, from column: Int) {
        wanted = Int(row.int(column))
        accepted = Int(row.int(column + 1))
        removed = Int(row.int(column + 2))
        refused = Int(row.int(column + 3))
        givenUp = Int(row.int(column + 4))
        resent = Int(row.int(column + 5))
        downgraded = Int(row.int(column + 6))
        merged = Int(row.int(column + 7))
        handed = Int(row.int(column + 8))
        heldAt = row.optionalMoment(column + 9)
        firstPushAt = row.optionalMoment(column + 10)
        lastPushAt = row.optionalMoment(column + 11)
    }

    var parameters: [PGValue] {
        [
            .int(wanted), .int(accepted), .int(removed), .int(refused), .int(givenUp), .int(resent), .int(downgraded),
            .int(merged), .int(handed), .moment(heldAt), .moment(firstPushAt), .moment(lastPushAt),
        ]
    }
}

extension Sweep {
    static let columns = """
        reached_version, taken_version, urgent_version, alert_version, cursor, turn_limit, turn_start, turn_wrapped, \
        lap_start, lap_wrapped, lap_urgent, lap_priority, alert_start, alert_wrapped, urgent_at, routine_at
        """

    /// Columns as in ``columns``, from `column` on.
    init(_ row: PGRow, from column: Int) {
        func mark(_ start: Int, _ wrapped: Int) -> Mark? {
            row.optionalInt(column + start).map { Mark(start: $0, wrapped: row.bool(column + wrapped)) }
        }
        self.init(
            reached: row.int(column),
            taken: row.int(column + 1),
            urgentVersion: row.int(column + 2),
            alertVersion: row.int(column + 3),
            cursor: row.int(column + 4),
            limit: row.int(column + 5),
            turn: mark(6, 7),
            lap: mark(8, 9).map {
                Lap(mark: $0, isUrgent: row.bool(column + 10), priority: Int(row.int(column + 11)))
            },
            alert: mark(12, 13),
            pacing: PacingRecord(row, from: column + 14)
        )
    }

    var parameters: [PGValue] {
        [
            .int(reached), .int(taken), .int(urgentVersion), .int(alertVersion), .int(cursor), .int(limit),
            .int(turn?.start), .bool(turn?.wrapped ?? false),
            .int(lap?.mark.start), .bool(lap?.mark.wrapped ?? false), .bool(lap?.isUrgent ?? false),
            .int(lap?.priority ?? 5),
            .int(alert?.start), .bool(alert?.wrapped ?? false),
            .int8Array(pacing.urgentAt.map(\.milliseconds)), .int(pacing.routineAt?.milliseconds),
        ]
    }
}

extension PacingRecord {
    /// Columns: `urgent_at`, `routine_at`.
    init(_ row: PGRow, from column: Int) {
        self.init(
            urgentAt: row.textArray(column).compactMap { $0.flatMap { Int64($0) } }.map(Moment.init(milliseconds:)),
            routineAt: row.optionalInt(column + 1).map(Moment.init(milliseconds:))
        )
    }
}
