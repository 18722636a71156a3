/// What a phone reads in the body of a push. Shared by all phones that receive the same bytes.
final class PushPayload {
    enum Event: UInt8, Sendable {
        case start, update, end

        var name: String {
            switch self {
            case .start: "start"
            case .update: "update"
            case .end: "end"
            }
        }

        init?(name: String?) {
            switch name {
            case "start": self = .start
            case "update": self = .update
            case "end": self = .end
            default: return nil
            }
        }
    }

    /// ActivityKit takes no more for an activity's data, though a broadcast could carry it.
    static let mostStateBytes = 4096

    let event: Event
    /// `aps.timestamp`, UNIX seconds.
    let timestamp: Int64
    /// Absent only in an `end`, which then leaves what is shown.
    let contentState: ContentState?
    let staleDate: Int64?
    let hasAlert: Bool
    /// The number of its alert's title in ``AlertTitles``.
    fileprivate(set) var alertTitle: UInt32 = 0
    fileprivate let alertText: String?
    /// Of a `start`: the attributes' text.
    let attributes: [UInt8]?
    private var verdicts: [(contract: PhoneContract, decodes: Bool)] = []

    /// Nil when no phone could make anything of the body.
    init?(_ body: [UInt8]) {
        guard let aps = (try? JSONTextParser.parse(body))?["aps"], let event = Event(name: aps["event"]?.string),
            let timestamp = Self.seconds(aps["timestamp"])
        else { return nil }
        let state = aps["content-state"]
        if state == nil, event != .end { return nil }
        if let state, state.members == nil || state.range.count > Self.mostStateBytes { return nil }
        if event == .start {
            guard aps["alert"]?.members != nil, aps["attributes"]?.members != nil, aps["attributes-type"]?.string != nil
            else { return nil }
        }
        self.event = event
        self.timestamp = timestamp
        contentState = state.map { ContentState(raw: Array(body[$0.range]), json: $0) }
        staleDate = Self.seconds(aps["stale-date"])
        hasAlert = aps["alert"] != nil
        let alert = aps["alert"]
        let title = alert?["title"]
        alertText = alert?.string ?? title?.string ?? title?["loc-key"]?.string ?? alert?["title-loc-key"]?.string
        attributes = event == .start ? aps["attributes"].map { Array(body[$0.range]) } : nil
    }

    /// Whether an app with this contract decodes the content state; worked out once for each contract.
    func decodes(as contract: PhoneContract) -> Bool {
        if let known = verdicts.first(where: { $0.contract === contract }) { return known.decodes }
        let decodes: Bool
        do throws(DecodingFault) {
            if let contentState { try contract.decode(contentState.json) }
            decodes = true
        } catch { decodes = false }
        verdicts.append((contract, decodes))
        return decodes
    }

    private static func seconds(_ value: JSONText?) -> Int64? {
        value?.integer ?? value?.double.flatMap { Int64(exactly: $0.rounded(.down)) }
    }
}

/// A content state: its text as it came, for showing, and its value, for decoding.
final class ContentState {
    let raw: [UInt8]
    let json: JSONText

    init(raw: [UInt8], json: JSONText) {
        self.raw = raw
        self.json = json
    }
}

/// A push on its way to a phone.
struct PhonePush {
    /// Nil when the body means nothing to a phone.
    let payload: PushPayload?
    /// Priority 10, which counts against the hourly budget.
    let isUrgent: Bool
}

/// Remembers the newest bodies, since a sweep sends the same bytes to many tokens.
struct PayloadCache {
    private var recent: [(body: [UInt8], payload: PushPayload?)] = []
    private static let most = 8
    private(set) var titles = AlertTitles()

    mutating func payload(of body: [UInt8]) -> PushPayload? {
        if let index = recent.firstIndex(where: { $0.body == body }) {
            let payload = recent[index].payload
            if index > 0 { recent.swapAt(index, index - 1) }
            return payload
        }
        let payload = PushPayload(body)
        if let payload, let text = payload.alertText { payload.alertTitle = titles.number(of: text) }
        if recent.count == Self.most { recent.removeLast() }
        recent.insert((body, payload), at: 0)
        return payload
    }
}
