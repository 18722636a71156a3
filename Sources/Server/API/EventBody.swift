internal import Core
internal import Crypto
internal import Store

/// An event as posted, with the digest that tells a repetition from another event of the same id.
struct EventBody: Sendable {
    let decoded: FeedEvent.Decoded
    let digest: [UInt8]

    init(_ json: JSONValue, now: Timestamp, namesMatch: Bool = false) throws(Problem) {
        decoded = try FeedEvent.decode(json, now: now, namesMatch: namesMatch)
        digest = Self.digest(json)
    }

    /// Over the members by name, each as it came, without `match`: posted alone or in a line, an event is the same.
    private static func digest(_ json: JSONValue) -> [UInt8] {
        guard case .object(let members) = json.content else { return SHA256.hash(json.raw) }
        var bytes: [UInt8] = []
        for member in members.sorted(by: { $0.name < $1.name }) where member.name != "match" {
            bytes += member.name.utf8
            bytes.append(0)
            bytes += member.value.raw
            bytes.append(0)
        }
        return SHA256.hash(bytes)
    }
}

extension EventContext {
    /// Checks an event against contract and sizes.
    ///
    /// - Parameters:
    ///   - decoded: The event.
    ///   - contracts: Contracts read before.
    /// - Returns: The event with its content state as it is to be sent, and warnings for the answer.
    /// - Throws: `contract_violation`, `payload_too_large`.
    func check(
        _ decoded: FeedEvent.Decoded,
        contracts: ContractCache
    ) throws(Problem) -> (event: FeedEvent, warnings: [String]) {
        var event = decoded.event
        var warnings = warnings
        if let state = decoded.contentState, let contract, let parsed = contracts.contract(contract) {
            let verdict = try parsed.check(state, path: "content_state")
            event.contentState = verdict.json
            warnings += verdict.warnings
        }
        try sizes.check(
            contentState: event.contentState,
            relevanceScore: event.relevanceScore,
            extra: event.apsExtra
        )
        return (event, warnings)
    }
}
