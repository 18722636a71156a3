package import APNsProtocol
package import Core
internal import PostgreSQL

/// A match as the API shows it.
package struct MatchRecord: Sendable {
    package let key: MatchKey
    package let bundle: BundleID
    package let type: AttributesType
    package let status: MatchStatus
    package let version: Int64
    package let kickoffAt: Timestamp
    package let topics: [String]
    package let attributes: RawJSON?
    /// `start.alert`, as it came.
    package let startAlert: RawJSON?
    package let contentState: RawJSON
    package let pausedAt: Timestamp?
    /// `start.lead`, seconds; nil: its app's.
    package let startLead: Int64?
    /// Of the newest event, which later ones are compared with.
    package let lastSequence: Int64?
    package let lastOccurredAt: Timestamp?
    /// The last event, also one that was superseded, or the match's creation.
    package let lastEventAt: Timestamp
    /// How long it may be without events, seconds; nil: as its app says.
    package let endsAfterSilence: Int64?
    /// The same, as it holds.
    package let silence: Duration
    /// Its end is out, by an event, by silence, or since it was called off.
    package let hasEnded: Bool
}

/// What a tenant says about a match.
package struct MatchDraft: Sendable {
    package var bundle: BundleID
    package var type: AttributesType
    package var kickoffAt: Timestamp
    package var topics: [String]
    package var attributes: RawJSON?
    package var startAlert: RawJSON?
    /// How long before its kick-off it is started, seconds; nil: as its app says.
    package var startLead: Int64?
    /// How long it may be without events before it ends, seconds; nil: as its app says.
    package var endsAfterSilence: Int64?
    /// Begins a match that has ended anew, for another season.
    package var isRenewed: Bool
    /// The first one, version 0; nil only where the match is there already.
    package var contentState: RawJSON?
    /// `scheduled`, `postponed`, `abandoned`; nil: as it is.
    package var status: MatchStatus?

    package init(
        bundle: BundleID,
        type: AttributesType,
        kickoffAt: Timestamp,
        topics: [String] = [],
        attributes: RawJSON? = nil,
        startAlert: RawJSON? = nil,
        startLead: Int64? = nil,
        endsAfterSilence: Int64? = nil,
        isRenewed: Bool = false,
        contentState: RawJSON?,
        status: MatchStatus? = nil
    ) {
        self.bundle = bundle
        self.type = type
        self.kickoffAt = kickoffAt
        self.topics = topics
        self.attributes = attributes
        self.startAlert = startAlert
        self.startLead = startLead
        self.endsAfterSilence = endsAfterSilence
        self.isRenewed = isRenewed
        self.contentState = contentState
        self.status = status
    }
}

/// What became of a match that was put.
package enum MatchPutAnswer: Sendable {
    case created(MatchRecord)
    case updated(MatchRecord)
    /// The bundle has no app in any environment.
    case noApp
    case contentStateMissing
    /// Bundle or type of a match that had events cannot change.
    case fixed(field: String)
    case statusConflict(MatchStatus)
    /// It cannot begin anew while its end is held.
    case endHeld
}

extension MatchRecord {
    static let columns = """
        m.tenant_id, m.match_id, m.bundle, m.attributes_type, m.status, m.version, m.kickoff_at, m.topics, m.attributes,
        m.start_alert, m.content_state, m.paused_at, m.start_lead, m.last_sequence, m.last_occurred_at,
        \(lastEventSQL), m.ends_after_silence, \(silenceSQL), m.end_version IS NOT NULL
        """
    /// How many those are.
    static let columnCount = 19

    /// When something last came of the match `m`. Events that were superseded leave the match's row alone: they are looked
    /// for where it seems silent.
    static let lastEventSQL = """
        CASE WHEN m.end_version IS NULL AND m.accepted_at < now() - interval '10 minutes' THEN greatest(m.accepted_at, (
            SELECT max(e.received_at) FROM events e
            WHERE e.tenant_id = m.tenant_id AND e.match_id = m.match_id AND e.status = 'superseded'))
        ELSE m.accepted_at END
        """

    /// How long the match `m` may be without events, seconds: its own setting, else the longest of its apps'.
    static let silenceSQL = """
        coalesce(m.ends_after_silence, (SELECT max(a.ends_after_silence) FROM apps a
            WHERE a.tenant_id = m.tenant_id AND a.bundle = m.bundle), \(EndHold.silence.components.seconds))
        """

    init(_ row: PGRow) {
        key = row.matchKey(0)
        bundle = row.wrapped(2)
        type = row.wrapped(3)
        status = row.value(4)
        version = row.int(5)
        kickoffAt = row.time(6)
        topics = row.textArray(7).compactMap { $0 }
        attributes = row.optionalJSON(8)
        startAlert = row.optionalJSON(9)
        contentState = row.json(10)
        pausedAt = row.optionalTime(11)
        startLead = row.optionalInt(12)
        lastSequence = row.optionalInt(13)
        lastOccurredAt = row.optionalTime(14)
        lastEventAt = row.time(15)
        endsAfterSilence = row.optionalInt(16)
        silence = .seconds(row.int(17))
        hasEnded = row.bool(18)
    }
}
