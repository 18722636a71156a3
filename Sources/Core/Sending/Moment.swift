/// A point of time as the database counts it: whole milliseconds since 1970, UTC.
///
/// Every rule of sending is handed its `Moment`, read from PostgreSQL together with the rows it is about, so that
/// processes whose own clocks differ decide alike.
package struct Moment: Comparable, Hashable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// - Parameter seconds: Whole seconds since 1970, as APNs counts them.
    package init(seconds: Int64) {
        self.init(milliseconds: seconds * 1000)
    }

    /// Whole seconds since 1970, rounded down.
    package var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }

    package static func + (moment: Self, duration: Duration) -> Self {
        Self(milliseconds: moment.milliseconds + duration.wholeMilliseconds)
    }

    package static func - (moment: Self, duration: Duration) -> Self {
        Self(milliseconds: moment.milliseconds - duration.wholeMilliseconds)
    }

    package static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
