internal import APNsProtocol
internal import Core
internal import Store

/// The settings that a body names; the others stay.
struct AppChanges: Sendable {
    static let names = [
        "frequent_updates_declared", "channels", "tokens", "storage_policy", "pacing", "stale_after", "channel_lead",
        "channel_linger", "start_lead", "ends_after_silence",
    ]

    private let frequentUpdatesDeclared: Bool?
    private let channels: ChannelMode?
    private let tokens: Bool?
    private let storagePolicy: StoragePolicy?
    private let frequent: Pace
    private let standard: Pace
    private let staleAfter: Int64?
    private let channelLead: Int64?
    private let channelLinger: Int64?
    private let startLead: Int64?
    private let endsAfterSilence: Int64?

    private struct Pace: Sendable {
        var gapSeconds: Int64?
        var urgentPerHour: Int64?

        func apply(to pace: inout AppSettings.Pace) {
            pace.gapSeconds = gapSeconds ?? pace.gapSeconds
            pace.urgentPerHour = urgentPerHour ?? pace.urgentPerHour
        }
    }

    /// - Throws: `invalid_field`, `unknown_field`.
    init(_ body: ObjectReader) throws(Problem) {
        frequentUpdatesDeclared = try body.optionalBool("frequent_updates_declared")
        channels = try body.optionalChoice("channels")
        tokens = try body.optionalBool("tokens")
        storagePolicy = try body.optionalInteger("storage_policy", in: 0...1).flatMap {
            StoragePolicy(rawValue: Int($0))
        }
        staleAfter = try body.optionalInteger("stale_after", in: 60...28_800)
        channelLead = try body.optionalInteger("channel_lead", in: 0...2_592_000)
        channelLinger = try body.optionalInteger("channel_linger", in: 0...604_800)
        startLead = try body.optionalInteger("start_lead", in: 0...86_400)
        endsAfterSilence = try body.optionalInteger("ends_after_silence", in: EndHold.silences)
        var paces = (frequent: Pace(), standard: Pace())
        if let pacing = try body.optionalObject("pacing") {
            let reader = try ObjectReader(pacing, path: "pacing", names: ["frequent", "standard"])
            paces = (try Self.pace(reader, "frequent"), try Self.pace(reader, "standard"))
        }
        (frequent, standard) = paces
    }

    func apply(to settings: inout AppSettings) {
        settings.frequentUpdatesDeclared = frequentUpdatesDeclared ?? settings.frequentUpdatesDeclared
        settings.channels = channels ?? settings.channels
        settings.tokens = tokens ?? settings.tokens
        settings.storagePolicy = storagePolicy ?? settings.storagePolicy
        settings.staleAfter = staleAfter ?? settings.staleAfter
        settings.channelLead = channelLead ?? settings.channelLead
        settings.channelLinger = channelLinger ?? settings.channelLinger
        settings.startLead = startLead ?? settings.startLead
        settings.endsAfterSilence = endsAfterSilence ?? settings.endsAfterSilence
        frequent.apply(to: &settings.frequent)
        standard.apply(to: &settings.standard)
    }

    private static func pace(_ pacing: ObjectReader, _ cadence: String) throws(Problem) -> Pace {
        guard let value = try pacing.optionalObject(cadence) else { return Pace() }
        let reader = try ObjectReader(value, path: pacing.place(cadence), names: ["gap_seconds", "urgent_per_hour"])
        return Pace(
            gapSeconds: try reader.optionalInteger("gap_seconds", in: 0...3_600),
            urgentPerHour: try reader.optionalInteger("urgent_per_hour", in: 0...3_600)
        )
    }
}
