package import APNsProtocol
package import Store

/// An app's channels: what the books have against what APNs lists.
package struct ChannelAudit: Sendable {
    /// As many as Apple allows an app in one environment.
    package static let limit = 10_000

    /// APNs has so many.
    package let used: Int
    /// In the books and at APNs, their matches' channels.
    package let open: [LedgerEntry]
    /// Made here and still at APNs, but no match's channel any more.
    package let orphaned: [LedgerEntry]
    /// A match's channel by the books, and not at APNs.
    package let lost: [LedgerEntry]
    /// At APNs, and not made here.
    package let foreign: [ChannelID]

    /// - Parameters:
    ///   - ledger: Of one app in one environment.
    ///   - listed: What APNs lists for it.
    package init(ledger: [LedgerEntry], listed: [ChannelID]) {
        let atAPNs = Set(listed)
        let ours = Set(ledger.map(\.id))
        used = listed.count
        open = ledger.filter { $0.current != nil && atAPNs.contains($0.id) }
        orphaned = ledger.filter { $0.current == nil && atAPNs.contains($0.id) }
        lost = ledger.filter { $0.current != nil && !atAPNs.contains($0.id) }
        foreign = listed.filter { !ours.contains($0) }
    }
}
