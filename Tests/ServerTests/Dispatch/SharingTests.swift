import APNs
import APNsProtocol
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

@Suite("What processes share", .database, .timeLimit(.minutes(5)))
struct SharingTests {
    @Test("a bell that one process rings is heard by the others, and not by itself")
    func bell() async throws {
        var options = EngineFixture.Options()
        options.dispatches = false
        try await EngineFixture.run(options) { engine in
            let pool = TestDatabase.current.pool()
            let (here, there) = (WorkBell(name: "here"), WorkBell(name: "there"))
            let dispatcher = Dispatcher(
                store: engine.store,
                pool: engine.pool,
                channels: engine.channels,
                bell: there,
                configuration: {
                    var configuration = DispatchConfiguration(owner: "there")
                    // Only the bell can wake it.
                    configuration.poll = .seconds(3600)
                    return configuration
                }()
            )
            let tasks = [
                Task { await here.runNotifying(over: pool) },
                Task {
                    await there.runListening { () async throws(PGError) in
                        try await TestDatabase.current.connect()
                    }
                },
                Task { await dispatcher.run() },
            ]
            try await engine.until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%')")
            try await engine.register(1...3)
            try await engine.event(1, importance: .key)
            here.ring()
            try await engine.untilSettled()
            #expect(await engine.pushes().count == 3)
            for task in tasks { task.cancel() }
            await dispatcher.drain(by: .patient)
            for task in tasks { await task.value }
        }
    }

    @Test("provider tokens are signed once for all, and again only when APNs refused one that is 20 minutes old")
    func providerTokens() async throws {
        try await EngineFixture.run { engine in
            let number = try #require(Int64(try await engine.value("SELECT credential_id FROM apps") ?? ""))
            let credential = CredentialID(number)
            let processes = (0..<8).map { _ in StoredProviderTokens(store: engine.store) }
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for process in processes { group.addTask { try await process.token(for: credential) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            let token = try #require(tokens.first)
            let stored = try await engine.value("SELECT encode(provider_token_ciphertext, 'escape') FROM apps")
            #expect(stored?.contains(token) == false)

            await processes[0].refused(token, for: credential, as: .expired)
            #expect(try await processes[0].token(for: credential) == token)
            _ = try await engine.store.owner(
                by: EngineFixture.soon,
                "UPDATE apps SET provider_token_issued_at = provider_token_issued_at - interval '21 minutes'"
            )
            #expect(try await processes[1].token(for: credential) == token)
            let renewed = try await processes[0].token(for: credential)
            #expect(renewed != token)
            #expect(try await processes[1].token(for: credential) == renewed)
        }
    }

    @Test("a credential that is gone is unusable, not a crash")
    func unknownCredential() async throws {
        let tokens = StoredProviderTokens(store: TestDatabase.current.store())
        await #expect(throws: ProviderTokenError.self) { try await tokens.token(for: CredentialID(4711)) }
    }
}
