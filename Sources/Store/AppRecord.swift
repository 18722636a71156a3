package import APNsProtocol
package import Core
internal import PostgreSQL

/// What a tenant sets about an app.
package struct AppSettings: Equatable, Sendable {
    package var frequentUpdatesDeclared = false
    package var channels = ChannelMode.single
    package var tokens = true
    package var storagePolicy = StoragePolicy.mostRecentMessageStored
    package var frequent = Pace(gapSeconds: 5, urgentPerHour: 120)
    package var standard = Pace(gapSeconds: 60, urgentPerHour: 15)
    package var staleAfter: Int64 = 900
    package var channelLead: Int64 = 86_400
    package var channelLinger: Int64 = 14_400
    package var startLead: Int64 = 600
    /// How long a match may be without events before it ends by itself, seconds.
    package var endsAfterSilence = EndHold.silence.components.seconds

    package init() {}

    /// Pacing of one cadence.
    package struct Pace: Equatable, Sendable {
        package var gapSeconds: Int64
        package var urgentPerHour: Int64

        package init(gapSeconds: Int64, urgentPerHour: Int64) {
            self.gapSeconds = gapSeconds
            self.urgentPerHour = urgentPerHour
        }
    }
}

/// What an app's provider tokens are signed with; the key itself only encrypted.
package struct AppCredential: Sendable {
    package let team: TeamID
    package let key: KeyID
    /// PKCS#8 PEM under the master key.
    package let p8Ciphertext: [UInt8]
    /// Hexadecimal SHA-256 of the public key.
    package let fingerprint: String

    package init(team: TeamID, key: KeyID, p8Ciphertext: [UInt8], fingerprint: String) {
        self.team = team
        self.key = key
        self.p8Ciphertext = p8Ciphertext
        self.fingerprint = fingerprint
    }
}

/// An app as it stands, without its key.
package struct AppRecord: Sendable {
    package let key: AppKey
    package let team: TeamID
    package let keyID: KeyID
    package let fingerprint: String
    package let settings: AppSettings
    package let pausedAt: Timestamp?
    /// Why sends to tokens stopped; nil while they run.
    package let tokensStopped: String?
    package let channelsStopped: String?
}

extension AppRecord {
    static let columns = """
        bundle, environment, team_id, key_id, key_fingerprint, frequent_updates_declared, channels, tokens,
        storage_policy, frequent_gap_seconds, frequent_urgent_per_hour, standard_gap_seconds, standard_urgent_per_hour,
        stale_after, channel_lead, channel_linger, start_lead, paused_at, tokens_stopped, channels_stopped,
        ends_after_silence
        """

    init(_ row: PGRow, tenant: TenantID) {
        key = AppKey(tenant: tenant, bundle: row.wrapped(0), environment: row.value(1))
        team = row.wrapped(2)
        keyID = row.wrapped(3)
        fingerprint = row.text(4)
        var settings = AppSettings()
        settings.frequentUpdatesDeclared = row.bool(5)
        settings.channels = row.value(6)
        settings.tokens = row.bool(7)
        settings.storagePolicy = row.int(8) == 0 ? .noMessageStored : .mostRecentMessageStored
        settings.frequent = AppSettings.Pace(gapSeconds: row.int(9), urgentPerHour: row.int(10))
        settings.standard = AppSettings.Pace(gapSeconds: row.int(11), urgentPerHour: row.int(12))
        settings.staleAfter = row.int(13)
        settings.channelLead = row.int(14)
        settings.channelLinger = row.int(15)
        settings.startLead = row.int(16)
        settings.endsAfterSilence = row.int(20)
        self.settings = settings
        pausedAt = row.optionalTime(17)
        tokensStopped = row.optionalText(18)
        channelsStopped = row.optionalText(19)
    }
}
