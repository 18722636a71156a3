import Crypto
import Testing

@testable import APNsSimulator

@Suite("The phones of an environment")
struct PhoneStoreTests {
    let now: Int64 = 1_790_000_000

    private func push(_ stamp: Int64, event: String = "update", home: Int = 1) -> PhonePush {
        let body = #"{"aps":{"timestamp":\#(stamp),"event":"\#(event)","content-state":{"home":\#(home)}}}"#
        return PhonePush(payload: PushPayload(Array(body.utf8)), isUrgent: false)
    }

    @Test("a hundred thousand tokens are found again")
    func manyTokens() {
        var table = TokenTable()
        let tokens = (0..<100_000).map { SHA256.hash("token \($0)") }
        for (index, token) in tokens.enumerated() { #expect(table.insert(token) == (index, true)) }
        #expect(table.count == tokens.count)
        for (index, token) in tokens.enumerated() where table.find(token) != index {
            Issue.record("token \(index) is lost")
        }
        #expect(table.find([1, 2, 3]) == nil)
        #expect(table.insert(tokens[5]) == (5, false))
        #expect(Array(table.token(of: 77)) == tokens[77])
    }

    @Test("a token that nobody registered is modelled; registering it later keeps what it shows")
    func unregistered() {
        let store = PhoneStore(environment: .production)
        #expect(store.receive(push(5), token: [1], now: now).order == .newer)
        store.register(token: [1], PhoneStore.Registration(), now: now)
        #expect(store.phone([1])?.stamp == 5)
        #expect(store.count == 1)
        let since = UInt32(now)
        #expect(store.receive(push(5), token: [1], now: now + 2).order == .same(since: since), "a double")
        #expect(store.receive(push(4), token: [1], now: now + 3).order == .older(since: since), "too late")
        #expect(
            store.receive(push(5), token: [1], now: now + 4).order == .same(since: since),
            "also behind an older one"
        )
        #expect(store.receive(push(6), token: [1], now: now + 5).order == .newer)
    }

    @Test("registering a phone whose activity ended begins a new activity")
    func registerAgain() {
        let store = PhoneStore(environment: .production)
        store.register(token: [1], PhoneStore.Registration(), now: now)
        _ = store.receive(push(5, event: "end"), token: [1], now: now)
        #expect(store.phone([1])?.hasEnded == true)
        store.register(token: [1], PhoneStore.Registration(), now: now)
        #expect(store.phone([1])?.hasEnded == false)
        #expect(store.registered == 1)
    }

    @Test("a group counts as its phones, and receives what its channel stored")
    func groups() throws {
        let store = PhoneStore(environment: .sandbox)
        let channels = ChannelStore(generator: SeededGenerator(seed: 3))
        let channel = try #require(channels.create("a.b", .sandbox, storagePolicy: 1))
        store.register(count: 500, on: channel, PhoneStore.Registration(), now: now)
        _ = store.receive(push(7), on: channel, now: now)
        channel.stored = StoredMessage(push: push(7), expiresAt: now + 60)
        store.register(count: 20, on: channel, PhoneStore.Registration(), now: now + 59)
        store.register(count: 3, on: channel, PhoneStore.Registration(), now: now + 60)
        #expect(store.count == 523)
        #expect(store.groups(on: channel.id).map(\.stamp) == [7, 7, nil])
        var shown: [ObjectIdentifier: ShownTally] = [:]
        store.tally(into: &shown)
        #expect(shown.values.map(\.running).sorted() == [3, 20, 500])
    }
}
