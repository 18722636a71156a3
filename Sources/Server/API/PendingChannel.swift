internal import Core
internal import Store

/// Why a channel is not open yet, and when that may be over.
struct PendingChannel {
    let channel: ChannelRecord
    let app: AppRecord?
    let now: Timestamp

    /// `channel_pending`, with a `Retry-After` that is true as far as anybody knows.
    var problem: Problem {
        let (why, wait, hint) = reason
        return Problem(
            .channelPending,
            "the channel is not open yet: \(why)",
            hint: hint ?? "Ask again after Retry-After; `touchline channel show --wait 60` does so by itself.",
            retryAfterSeconds: wait
        )
    }

    /// How often work that a person has to let go on is looked at.
    private static let heldSeconds = 60

    private var reason: (why: String, wait: Int, hint: String?) {
        if let stopped = app?.channelsStopped {
            return (
                "channel work of the app is stopped: \(stopped)", Self.heldSeconds,
                "Mend that, then let it go on: `touchline app change … --go-on`, or \"stopped\": null."
            )
        }
        if app?.pausedAt != nil {
            return (
                "the app is paused", Self.heldSeconds, "Let it go on: `touchline app resume`, or \"paused\": false."
            )
        }
        if channel.creatingAt != nil { return ("APNs is being asked for it", max(1, secondsUntilNext ?? 5), nil) }
        guard let wait = secondsUntilNext, let nextAt = channel.nextAt else {
            return (channel.lastError ?? "it is not planned", Self.heldSeconds, nil)
        }
        let moment = "\(Timestamp(microseconds: nextAt.milliseconds * 1_000))"
        if let error = channel.lastError {
            return ("\(error); it is tried again\(wait > 0 ? " at \(moment)" : " now")", max(1, wait), nil)
        }
        guard wait > 0 else { return ("it is made now", 1, nil) }
        let lead = app.map { ", \($0.settings.channelLead) s before the kick-off (channel_lead)" } ?? ""
        return ("it is made at \(moment)\(lead)", wait, nil)
    }

    /// Rounded up: whoever comes then finds it begun. Nil: nothing is planned.
    private var secondsUntilNext: Int? {
        channel.nextAt.map { max(0, Int(($0.milliseconds - now.microseconds / 1_000 + 999) / 1_000)) }
    }
}
