import APNs
import APNsProtocol
import Core
import Crypto
import PostgreSQL
import Server
import Store
import Synchronization
import Testing

/// Dies at the steps that it is told, once each, or by chance.
final class Death: Sendable {
    private let left: Mutex<[String: Int]>
    private let chance: Mutex<UInt64?>
    private let count = Atomic(0)

    var deaths: Int { count.load(ordering: .relaxed) }

    init(at steps: [String], seed: UInt64? = nil) {
        left = Mutex(Dictionary(steps.map { ($0, 1) }) { $0 + $1 })
        chance = Mutex(seed)
    }

    func pass(_ step: String) throws(StoreError) {
        let isDue = left.withLock { left in
            guard let count = left[step], count > 0 else { return false }
            left[step] = count - 1
            return true
        }
        let isStruck = chance.withLock { state in
            guard let seed = state else { return false }
            let next = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            state = next
            return (next >> 33) % 12 == 0
        }
        guard isDue || isStruck else { return }
        count.add(1, ordering: .relaxed)
        throw .unavailable("died at \(step)")
    }
}

extension EngineFixture {
    /// A housekeeper of a process of its own, for one round: another one after each death.
    func keepHouse(_ death: Death? = nil) async {
        var configuration = Housekeeper.Configuration()
        if let death { configuration.checkpoint = { step throws(StoreError) in try death.pass(step) } }
        let housekeeper = Housekeeper(store: store, channels: channels, bell: bell, configuration: configuration)
        _ = try? await housekeeper.round()
    }

    /// The clock goes on: everything that was written down is that much longer ago, and what is to come that much nearer.
    func pass(_ time: String) async throws {
        let tables = [
            "matches", "channels", "channel_ids", "channel_makers", "targets", "start_passes", "starts", "activities",
        ]
        let columns = try await store.owner(
            by: Self.soon,
            """
            SELECT table_name, string_agg(format('%1$I = %1$I - interval ''\(time)''', column_name), ', ')
            FROM information_schema.columns
            WHERE table_schema = 'public' AND data_type = 'timestamp with time zone' AND table_name = ANY ($1)
            GROUP BY 1
            """,
            [.textArray(tables)]
        )
        #expect(columns.count == tables.count)
        _ = try await store.owner(
            by: Self.soon,
            columns.map { PGStatement("UPDATE \($0.text(0)) SET \($0.text(1))") }
        )
    }

    /// Asks APNs' channel management, as the product does.
    func ask(_ request: ChannelRequest) async throws -> ChannelAnswer {
        let number = try #require(Int64(try await value("SELECT credential_id::text FROM apps") ?? ""))
        return await channels.answer(
            to: request,
            environment: .production,
            credential: CredentialID(number),
            id: APNsID(seed: SecureRandom.bytes(16), index: 0),
            by: Self.soon
        )
    }

    /// The channels that APNs has of the app.
    func listed() async throws -> [String] {
        let answer = try await ask(.list(try #require(BundleID(validating: Self.bundle))))
        guard case .listed(let ids) = answer else {
            Issue.record("no list: \(answer)")
            return []
        }
        return ids.map(\.text).sorted()
    }

    /// The channels that the books have: ids of open ones, and a word for each that is in doubt.
    func ledger() async throws -> [String] {
        try await store.owner(
            by: Self.soon,
            "SELECT channel_id FROM channels WHERE state = 'open' UNION ALL "
                + "SELECT 'in doubt' FROM channels WHERE creating_at IS NOT NULL"
        ).map { $0.text(0) }.sorted()
    }

    /// Calls the API as an admin of the fixture's tenant.
    func admin() async throws -> APICaller {
        let key = try #require(
            try await store.createKey(.admin, of: key.tenant, expiresAt: nil, by: Self.soon)
        )
        let api = API(store: store, patience: .seconds(60), channels: channels) { [bell] in bell.ring() }
        return APICaller(api: api, key: key.text)
    }
}
