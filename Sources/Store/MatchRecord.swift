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
}

extension MatchRecord {
    static let columns = """
        m.tenant_id, m.match_id, m.bundle, m.attributes_type, m.status, m.version, m.kickoff_at, m.topics, m.attributes,
        m.start_alert, m.content_state, m.paused_at, m.start_lead, m.last_sequence, m.last_occurred_at
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
    }
}
