/// The dates that a push carries.
package enum PushTiming {
    /// APNs stores nothing longer on a channel, and activities last no longer.
    private static let longestStored = Duration.seconds(8 * 3600)
    /// A card stays on the Lock Screen for four hours after its end.
    private static let endLifetime = Duration.seconds(4 * 3600)
    /// A stale date nearer than this would make a card stale as it arrives.
    private static let shortestFresh = Duration.seconds(60)

    /// When phones are to show the state as stale.
    ///
    /// - Parameters:
    ///   - acceptedAt: When the version's event was accepted.
    ///   - staleAfter: The event's own figure, or the app's.
    ///   - now: The database's clock.
    /// - Returns: Never less than a minute ahead.
    package static func staleDate(acceptedAt: Moment, staleAfter: Duration, now: Moment) -> Moment {
        max(acceptedAt + staleAfter, now + shortestFresh)
    }

    /// `apns-expiration` of an update or end to an update token, UNIX seconds.
    package static func tokenExpiration(isEnd: Bool, staleDate: Moment, now: Moment) -> Int64 {
        isEnd ? (now + endLifetime).seconds : staleDate.seconds
    }

    /// `apns-expiration` of a broadcast, UNIX seconds: 0 on a channel that stores nothing, where anything else is refused.
    package static func channelExpiration(
        storagePolicy: Int,
        isEnd: Bool,
        staleDate: Moment,
        now: Moment
    ) -> Int64 {
        guard storagePolicy == 1 else { return 0 }
        let wanted = isEnd ? now + endLifetime : staleDate
        // A second within the limit, since APNs' clock and ours differ.
        return min(wanted, now + longestStored - .seconds(1)).seconds
    }
}
