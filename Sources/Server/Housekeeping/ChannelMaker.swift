internal import APNs
internal import APNsProtocol
internal import Core
internal import Log
internal import Store

/// Makes an app's channels, so that a lost answer or a crash never leaves two for one match.
///
/// APNs chooses an id and says it once; its list has ids and nothing else. So a creation is put down before it is asked
/// for, and one process at a time makes the channels of a bundle, for one tenant after the other. Where an answer was lost, the id that has appeared since is
/// taken for its channel; where none has, or more than were asked for, another one is made.
struct ChannelMaker {
    let store: Store
    let channels: ChannelManagement
    let bell: WorkBell
    let owner: String
    let log: Logger
    let checkpoint: Housekeeper.Checkpoint?

    /// How long APNs may still be at a creation whose answer was lost.
    static let settling = Duration.seconds(30)
    /// So long nobody makes channels of a bundle whose maker has died; each creation needs 15 s of it.
    private static let lease = Duration.seconds(30)

    private var deadline: ContinuousClock.Instant { .now + .seconds(10) }

    /// Makes the channels of one app that are due.
    func run(_ duties: [ChannelDuty]) async throws(StoreError) {
        guard let app = duties.first?.channel.app, let credential = duties.first?.credential else { return }
        guard
            let lease = try await store.beginMaking(
                app,
                owner: "\(owner) \(app.tenant)",
                lease: Self.lease,
                by: deadline
            )
        else {
            for duty in duties {
                try await store.creationInDoubt(duty.channel, lookAfter: .seconds(1), by: deadline)
            }
            return
        }
        try await checkpoint?("lease")
        let strangers = try await strangers(lease, credential: credential, duties: duties)
        if let strangers {
            try await store.goOnMaking(lease, strangers: strangers, lease: Self.lease, by: deadline)
            try await checkpoint?("listed")
            await create(duties.filter { $0.channel.creatingAt == nil }, under: lease)
        }
        try await store.endMaking(lease, by: deadline)
    }

    /// Looks for what is in doubt, and finds out which ids at APNs are not ours.
    ///
    /// - Returns: nil: nothing can be made now; the duties are put off.
    private func strangers(
        _ lease: ChannelMakerLease,
        credential: Int64,
        duties: [ChannelDuty]
    ) async throws(StoreError) -> Set<String>? {
        let app = lease.app
        let (doubtful, areSettled) = try await store.doubtfulChannels(of: app, settled: Self.settling, by: deadline)
        guard doubtful.isEmpty || areSettled else {
            for channel in doubtful {
                try await store.creationInDoubt(channel, lookAfter: .seconds(5), by: deadline)
            }
            // What was strange before is so still, and what is made meanwhile is put down as ours.
            return lease.strangers
        }
        let answer = await channels.answer(to: .list(app.bundle), environment: app.environment, credential: credential)
        guard case .listed(let ids) = answer else {
            for duty in duties {
                try await ChannelFailure(store: store, log: log, duty: duty).settle(answer, by: deadline)
            }
            return nil
        }
        try await checkpoint?("list")
        let unknown = try await store.strangers(among: ids, of: app, by: deadline)
        guard !doubtful.isEmpty else { return Set(unknown.map(\.text)) }
        var appeared = unknown.filter { !lease.strangers.contains($0.text) }
        // More than were asked for: somebody else makes channels too, and theirs must not become ours.
        if appeared.count > doubtful.count { appeared = [] }
        for (index, record) in doubtful.enumerated() {
            switch await take(&appeared, for: record, credential: credential) {
            case .taken(let id): try await open(record, as: id, credential: credential)
            case .none: try await store.creationFailed(record, by: deadline)
            case .unread:
                for record in doubtful[index...] {
                    try await store.creationInDoubt(record, lookAfter: .seconds(5), by: deadline)
                }
                return lease.strangers
            }
            try await checkpoint?("resolved")
        }
        return Set(try await store.strangers(among: ids, of: app, by: deadline).map(\.text))
    }

    /// What looking for a channel in doubt came to.
    private enum Find {
        case taken(ChannelID)
        case none
        /// One could not be read: it may be the one.
        case unread
    }

    /// The first of `ids` with the record's storage policy; it is taken out of them.
    private func take(_ ids: inout [ChannelID], for record: ChannelRecord, credential: Int64) async -> Find {
        for (index, id) in ids.enumerated() {
            let answer = await channels.answer(
                to: .read(record.bundle, id),
                environment: record.environment,
                credential: credential
            )
            switch answer {
            case .found(record.storagePolicy): return .taken(ids.remove(at: index))
            case .found, .failed(.channelGone): continue
            case .created, .deleted, .listed, .limitReached, .failed: return .unread
            }
        }
        return .none
    }

    private func create(_ duties: [ChannelDuty], under lease: ChannelMakerLease) async {
        await withDiscardingTaskGroup { group in
            for duty in duties {
                // Where the database fails, the claim runs out and the duty is due again.
                group.addTask { try? await self.create(duty, under: lease) }
            }
        }
    }

    private func create(_ duty: ChannelDuty, under lease: ChannelMakerLease) async throws(StoreError) {
        let record = duty.channel
        guard try await store.beginCreation(record, under: lease, by: deadline) else { return }
        try await checkpoint?("put down")
        let answer = await channels.answer(
            to: .create(record.bundle, record.storagePolicy),
            environment: record.environment,
            credential: duty.credential
        )
        try await checkpoint?("answered")
        switch answer {
        case .created(let id): try await open(record, as: id, credential: duty.credential)
        case _ where answer.mayHaveCreated:
            try await store.creationInDoubt(record, lookAfter: Self.settling + .seconds(1), by: deadline)
        default: try await ChannelFailure(store: store, log: log, duty: duty).settle(answer, by: deadline)
        }
        try await checkpoint?("opened")
    }

    /// Gives a match its channel. One that comes when the match has another already, or needs none any more, goes at once.
    private func open(_ record: ChannelRecord, as id: ChannelID, credential: Int64) async throws(StoreError) {
        if try await store.channelOpened(record, as: id, by: deadline) { return bell.ring() }
        let answer = await channels.answer(
            to: .delete(record.bundle, id),
            environment: record.environment,
            credential: credential
        )
        // Where that fails, an audit shows it as orphaned.
        if case .deleted = answer { try await store.orphanDeleted(id, of: record.app, by: deadline) }
    }
}

extension ChannelAnswer {
    /// Whether a creation that was answered so may have left a channel at APNs.
    fileprivate var mayHaveCreated: Bool {
        switch self {
        case .created, .failed(.unknown): true
        // An error of APNs' own, or a success without its id.
        case .failed(.later(_, let reason)): reason.rawValue != "TooManyRequests"
        case .failed(.refused(let status, _)): status / 100 == 2
        case .found, .deleted, .listed, .limitReached, .failed: false
        }
    }
}
