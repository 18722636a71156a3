internal import EventLoop
internal import Core

/// Contracts by their text, so that not every event has its contract read anew. Holds at most ``limit``.
final class ContractCache: Sendable {
    private static let limit = 512
    private let contracts = ThreadLock<[String: Contract]>([:])

    func contract(_ json: RawJSON) -> Contract? {
        if let known = contracts.withLock({ $0[json.text] }) { return known }
        guard let contract = Contract(stored: json) else { return nil }
        contracts.withLock { contracts in
            // Seldom needed, and cheap to fill again.
            if contracts.count >= Self.limit { contracts.removeAll() }
            contracts[json.text] = contract
        }
        return contract
    }
}
