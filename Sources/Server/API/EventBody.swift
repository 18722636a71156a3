internal import Core
internal import Crypto
internal import Store

/// An event as posted, with the digest of its values that tells a repetition from another event of the same id.
struct EventBody: Sendable {
    let decoded: FeedEvent.Decoded
    let digest: [UInt8]

    init(_ json: JSONValue, now: Timestamp, namesMatch: Bool = false) throws(Problem) {
        decoded = try FeedEvent.decode(json, now: now, namesMatch: namesMatch)
        digest = SHA256.hash(FeedEvent.canonical(json))
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
