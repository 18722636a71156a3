package import APNs
internal import APNsProtocol
internal import Core
package import Store

/// What an admin asks of channels at APNs: to compare, and to delete what is told.
package struct ChannelDesk: Sendable {
    private let store: Store
    private let channels: ChannelManagement

    package init(store: Store, channels: ChannelManagement) {
        self.store = store
        self.channels = channels
    }

    /// Lists an app's channels at APNs and compares.
    ///
    /// The books are read afterwards: what is made meanwhile is in both, or only in the books, and that is asked for again
    /// before it counts as lost.
    /// - Throws: A ``Problem`` where APNs does not answer, else ``StoreError``.
    package func audit(_ app: AppKey, by deadline: ContinuousClock.Instant) async throws -> ChannelAudit {
        let credential = try await credential(of: app, by: deadline)
        let answer = await channels.answer(to: .list(app.bundle), environment: app.environment, credential: credential)
        guard case .listed(let listed) = answer else { throw Self.problem(answer) }
        let ledger = try await store.channelLedger(of: app, by: deadline)
        var confirmed = listed
        for entry in ChannelAudit(ledger: ledger, listed: listed).lost {
            let answer = await channels.answer(
                to: .read(app.bundle, entry.id),
                environment: app.environment,
                credential: credential
            )
            switch answer {
            case .failed(.channelGone): continue
            case .found: confirmed.append(entry.id)
            default: throw Self.problem(answer)
            }
        }
        return ChannelAudit(ledger: ledger, listed: confirmed)
    }

    /// Has a channel that is lost made anew, if its match is live and had no other within the hour.
    package func replace(_ entry: LedgerEntry, by deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool {
        guard entry.isMatchLive, let record = entry.current else { return false }
        return try await store.replaceChannel(record, by: deadline)
    }

    /// Deletes a channel at APNs that was made here and that no live match needs.
    package func delete(_ entry: LedgerEntry, by deadline: ContinuousClock.Instant) async throws {
        guard entry.current == nil || !entry.isMatchLive else { throw Self.isLive(entry) }
        let credential = try await credential(of: entry.app, by: deadline)
        let answer = await channels.answer(
            to: .delete(entry.app.bundle, entry.id),
            environment: entry.app.environment,
            credential: credential
        )
        switch answer {
        case .deleted, .failed(.channelGone): break
        default: throw Self.problem(answer)
        }
        if let record = entry.current {
            try await store.channelDeleted(record, by: deadline)
        } else {
            try await store.orphanDeleted(entry.id, of: entry.app, by: deadline)
        }
    }

    static func isLive(_ entry: LedgerEntry) -> Problem {
        Problem(
            .conflict,
            "it is the channel of the match \(entry.match), which is not over",
            field: "id",
            hint: "End or delete the match: its channel goes after the app's channel_linger."
        )
    }

    private func credential(of app: AppKey, by deadline: ContinuousClock.Instant) async throws -> Int64 {
        guard let number = try await store.credentialNumber(of: app, by: deadline) else {
            throw Problem(.notFound, "there is no app \(app.bundle) in \(app.environment.rawValue)", field: "bundle")
        }
        return number
    }

    private static func problem(_ answer: ChannelAnswer) -> Problem {
        guard case .failed(let outcome) = answer else {
            return Problem(.unavailable, "APNs gave an unreadable answer", retryAfterSeconds: 10)
        }
        switch Disposition(outcome) {
        case .stopApp(let reason), .giveUp(let reason), .checkChannel(let reason), .setTokenAside(let reason):
            return Problem(.conflict, "APNs refused: \(reason)")
        case .retry, .accepted, .removeToken:
            return Problem(
                .unavailable,
                "APNs could not be reached, or asked to come later",
                hint: "Ask again; is the management host reachable (ports 2195 and 2196)?",
                retryAfterSeconds: 10
            )
        }
    }
}
