import APNsProtocol
import Core
import PostgreSQL
import Store
import TestSupport
import Testing

@Suite("A match's channels", .database, .timeLimit(.minutes(5)))
struct ChannelStoreTests {
    private func duties(_ match: SendingFixture) async throws -> [ChannelDuty] {
        try await match.store.claimChannelDuties(limit: 10, lease: .seconds(30), by: SendingFixture.soon)
    }

    private func plan(_ match: SendingFixture) async throws {
        _ = try await match.store.owner(by: SendingFixture.soon, [Store.planChannels(tenant: match.tenant)])
    }

    @Test("planned, created once within its lead, a target from then on, deleted after its linger")
    func life() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await plan(match)
        try await plan(match)
        let duty = try #require(try await duties(match).first)
        #expect(duty.channel.state == .pending && duty.channel.cadence == .any && duty.stopped == nil)
        #expect(try await duties(match).isEmpty)

        let id = try #require(ChannelID(validating: "q83vEjRWeJA="))
        try await match.event("before it is open")
        try await match.store.channelOpened(duty.channel, as: id, by: SendingFixture.soon)
        let record = try #require(try await match.claim().first)
        let (state, channel) = try #require(
            try await match.store.channelState(of: record.key, by: SendingFixture.soon)
        )
        #expect(state.head.version == 1 && channel.channel == id && channel.state == .open)

        _ = try await match.store.end(match.key, by: SendingFixture.soon)
        #expect(try await match.store.lacksEnd(match.key, by: SendingFixture.soon))
        try await match.store.scheduleChannelDeletion(match.key, by: SendingFixture.soon)
        #expect(try await duties(match).isEmpty)
        _ = try await match.store.owner(by: SendingFixture.soon, "UPDATE channels SET next_at = now()")
        let deletion = try #require(try await duties(match).first)
        #expect(deletion.channel.state == .open)
        try await match.store.channelDeleted(deletion.channel, by: SendingFixture.soon)
        #expect(try await match.store.channels(of: match.key, by: SendingFixture.soon).map(\.state) == [.deleted])
        #expect(try await match.value("SELECT count(*) FROM targets") == "0")
    }

    @Test("two by cadence where the app declares frequent updates, else one", arguments: [true, false])
    func byCadence(declares: Bool) async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store(), declaresFrequent: declares)
        _ = try await match.store.owner(by: SendingFixture.soon, "UPDATE apps SET channels = 'by_cadence'")
        try await plan(match)
        let cadences = try await match.store.channels(of: match.key, by: SendingFixture.soon).map(\.cadence)
        #expect(cadences == (declares ? [.frequent, .standard] : [.standard]))
    }

    @Test("a channel that is gone is replaced once an hour")
    func replacement() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await plan(match)
        let id = try #require(ChannelID(validating: "q83vEjRWeJA="))
        for isAllowed in [true, false] {
            let pending = try #require(try await duties(match).first)
            try await match.store.channelOpened(pending.channel, as: id, by: SendingFixture.soon)
            let open = try #require(try await match.store.channels(of: match.key, by: SendingFixture.soon).first)
            #expect(try await match.store.replaceChannel(open, by: SendingFixture.soon) == isAllowed)
        }
    }

    @Test("on a channel of policy 0 a key version goes once more, with a new stamp, to that channel alone")
    func resends() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        _ = try await match.store.owner(by: SendingFixture.soon, "UPDATE apps SET storage_policy = 0")
        try await plan(match)
        let pending = try #require(try await duties(match).first)
        let id = try #require(ChannelID(validating: "q83vEjRWeJA="))
        try await match.store.channelOpened(pending.channel, as: id, by: SendingFixture.soon)
        try await match.register([try match.registration("a")])
        try await match.event("goal", importance: .key)
        _ = try await match.store.owner(
            by: SendingFixture.soon,
            "UPDATE targets SET due_at = NULL, reached_version = 1, taken_version = 1, urgent_version = 1, urgent = false"
        )
        #expect(try await match.value("SELECT resend_at > now() + interval '25 seconds' FROM matches") == "t")
        try await match.store.resend(match.key, by: SendingFixture.soon)
        #expect(try await match.value("SELECT version FROM matches") == "1")
        _ = try await match.store.owner(by: SendingFixture.soon, "UPDATE matches SET resend_at = now()")
        try await match.store.resend(match.key, by: SendingFixture.soon)
        #expect(try await match.value("SELECT version FROM matches") == "2")
        let due = try await match.claim()
        #expect(due.map(\.key.kind) == [.channel] && due.allSatisfy { !$0.isUrgent })
        #expect(try await match.value("SELECT resend_at FROM matches") == nil)
    }

    @Test("a stopped app's channel work says why; resuming marks what is behind")
    func stops() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        try await match.register([try match.registration("a")])
        try await match.event("1")
        let record = try #require(try await match.claim().first)
        let state = try #require(
            try await match.store.matchState(match.key, in: .production, by: SendingFixture.soon)
        )
        let app = try #require(state.app).key
        _ = try await match.store.stop(.tokens, of: app, because: "because", by: SendingFixture.soon)
        try await match.store.release(record, after: nil, seen: 1, by: SendingFixture.soon)
        #expect(try await match.claim().isEmpty)
        let stopped = try await match.store.matchState(match.key, in: .production, by: SendingFixture.soon)
        #expect(stopped?.app?.tokensStopped == "because")
        try await match.store.markBehind(app, by: SendingFixture.soon)
        #expect(try await match.claim().count == 1)
    }

    @Test("provider tokens are stored by compare-and-set")
    func providerTokens() async throws {
        let match = try await SendingFixture(store: TestDatabase.current.store())
        let soon = SendingFixture.soon
        let number = try #require(Int64(try await match.value("SELECT credential_id FROM apps") ?? ""))
        let credential = try #require(try await match.store.credential(number, by: soon))
        #expect(credential.tokenCiphertext == nil && credential.team.text == "TEAM000001")
        let issued = credential.now
        #expect(
            try await match.store.storeProviderToken(for: number, [1], issuedAt: issued, replacing: nil, by: soon)
        )
        #expect(
            !(try await match.store.storeProviderToken(for: number, [2], issuedAt: issued, replacing: nil, by: soon))
        )
        let stored = try #require(try await match.store.credential(number, by: soon))
        #expect(stored.tokenCiphertext == [1] && stored.tokenIssuedAt == issued)
        let next = issued + .seconds(3000)
        #expect(
            try await match.store.storeProviderToken(for: number, [3], issuedAt: next, replacing: issued, by: soon)
        )
    }
}
