import APNs
import APNsProtocol
import APNsSimulator
import Core
import Crypto
import EventLoop
import Foundation
import HTTP2
import Log
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

/// A dispatcher and a housekeeper on a database and a simulator of their own, with one tenant, app and match.
struct EngineFixture: Sendable {
    static let bundle = "com.example.scores"
    let store: Store
    let simulator: APNsSimulator
    let pool: SenderPool
    let channels: ChannelManagement
    let bell: WorkBell
    let dispatcher: Dispatcher
    let key: MatchKey
    private let loop: EventLoop

    /// For every call.
    static var soon: ContinuousClock.Instant { .patient }

    /// What differs from one situation to the next.
    struct Options {
        var faults: String?
        var isLean = false
        /// SQL that sets the app up otherwise.
        var app = "UPDATE apps SET channels = 'none'"
        var lease = Duration.seconds(10)
        var pageSize = 10
        var dispatches = true
        var keepsHouse = true
        var log = Logger.silent
    }

    static func run(_ options: Options = Options(), _ body: (EngineFixture) async throws -> Void) async throws {
        let store = TestDatabase.current.store(limit: 12)
        let loop = try EventLoop(name: "engine")
        defer { loop.shutdown() }
        try await withSimulator(faults: options.faults, configure: { $0.isLean = options.isLean }) { simulator in
            let engine = try await EngineFixture(options, store: store, simulator: simulator, loop: loop)
            var housekeeping = Housekeeper.Configuration()
            housekeeping.log = options.log
            let housekeeper = Housekeeper(
                store: store,
                channels: engine.channels,
                bell: engine.bell,
                configuration: housekeeping
            )
            try await withThrowingDiscardingTaskGroup { group in
                if options.dispatches { group.addTask { await engine.dispatcher.run() } }
                if options.keepsHouse { group.addTask { await housekeeper.run() } }
                let outcome: Result<Void, any Error>
                do {
                    try await body(engine)
                    outcome = .success(())
                } catch {
                    outcome = .failure(error)
                }
                await engine.dispatcher.drain(by: .now + .seconds(5))
                group.cancelAll()
                await engine.pool.drain(by: .now + .seconds(2))
                await engine.channels.close()
                try outcome.get()
            }
        }
    }

    init(_ options: Options, store: Store, simulator: APNsSimulator, loop: EventLoop) async throws {
        self.store = store
        self.simulator = simulator
        self.loop = loop
        var configuration = try SenderPoolConfiguration.testing(simulator, on: loop)
        configuration.log = options.log
        let tokens = StoredProviderTokens(store: store)
        pool = SenderPool(configuration: configuration, providerTokens: tokens)
        channels = ChannelManagement(configuration: configuration, providerTokens: tokens)
        bell = WorkBell(name: "test")
        key = MatchKey(
            tenant: try #require(TenantID(validating: "t_acme")),
            match: MatchID(unchecked: "final")
        )
        dispatcher = Self.dispatcher(options, "test", store, pool, channels, bell)
        try await insert(options)
    }

    private static func dispatcher(
        _ options: Options,
        _ owner: String,
        _ store: Store,
        _ pool: SenderPool,
        _ channels: ChannelManagement,
        _ bell: WorkBell
    ) -> Dispatcher {
        Dispatcher(
            store: store,
            pool: pool,
            channels: channels,
            bell: bell,
            configuration: configuration(options, owner)
        )
    }

    private static func configuration(_ options: Options, _ owner: String) -> DispatchConfiguration {
        var configuration = DispatchConfiguration(owner: owner)
        configuration.pageSize = options.pageSize
        configuration.windowShare = 1
        configuration.log = options.log
        configuration.lease = options.lease
        configuration.poll = .milliseconds(200)
        configuration.pushDeadline = .seconds(15)
        // What dies in a test leaves its journal there.
        configuration.startJournals = NSTemporaryDirectory()
        return configuration
    }

    /// Another process's, on the same database; nobody rings for it.
    func successor(_ options: Options) -> Dispatcher {
        Self.dispatcher(options, "successor", store, pool, channels, WorkBell(name: "successor"))
    }

    /// The same, with what differs in its configuration.
    func successor(_ options: Options, _ change: (inout DispatchConfiguration) -> Void) -> Dispatcher {
        var configuration = Self.configuration(options, "successor")
        change(&configuration)
        return Dispatcher(store: store, pool: pool, channels: channels, bell: bell, configuration: configuration)
    }

    /// Another process's dispatcher, with connections of its own and a source of provider tokens of the test's.
    ///
    /// It believes in its leases: it neither renews them nor finds them over.
    func holder(
        _ options: Options,
        tokens: any ProviderTokenSource
    ) throws -> (dispatcher: Dispatcher, pool: SenderPool) {
        let pool = SenderPool(
            configuration: try SenderPoolConfiguration.testing(simulator, on: loop),
            providerTokens: tokens
        )
        var configuration = Self.configuration(options, "holder")
        configuration.lease = .seconds(3600)
        configuration.renewal = .seconds(3600)
        // Nor does it claim again what it lost.
        configuration.targetsAtOnce = 1
        let dispatcher = Dispatcher(
            store: store,
            pool: pool,
            channels: channels,
            bell: WorkBell(name: "holder"),
            configuration: configuration
        )
        return (dispatcher, pool)
    }

    /// Runs the successor's dispatcher for as long as `body` takes.
    func dispatching(_ options: Options, _ body: () async throws -> Void) async throws {
        let dispatcher = successor(options)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await dispatcher.run() }
            try await body()
            await dispatcher.drain(by: .patient)
            group.cancelAll()
        }
    }

    private func insert(_ options: Options) async throws {
        let bundle = try #require(BundleID(validating: Self.bundle))
        let app = AppKey(tenant: key.tenant, bundle: bundle, environment: .production)
        let p8 = try store.masterKey.seal(Array(simulator.key.pem.utf8), for: app.binding("p8"))
        _ = try await store.owner(
            by: Self.soon,
            [
                "INSERT INTO tenants VALUES ('t_acme', 'acme')",
                PGStatement(
                    """
                    INSERT INTO apps (tenant_id, bundle, environment, team_id, key_id, p8_ciphertext, key_fingerprint,
                                      frequent_updates_declared)
                    VALUES ('t_acme', $1, 'production', $2, $3, $4, '', true)
                    """,
                    [.text(Self.bundle), .text(simulator.teamID), .text(simulator.keyID), .bytes(p8)]
                ),
                PGStatement(options.app),
                PGStatement(
                    """
                    INSERT INTO matches (tenant_id, match_id, bundle, attributes_type, kickoff_at, content_state)
                    VALUES ('t_acme', 'final', $1, 'Score', now(), '{"home":0}')
                    """,
                    [.text(Self.bundle)]
                ),
                Store.planChannels(tenant: key.tenant),
            ]
        )
        bell.ring()
    }

    // MARK: - Doing

    /// Registers phones `from` to `through`, with the tokens of those numbers.
    func register(_ numbers: ClosedRange<Int>, frequent: Bool = true, shown: Int64? = nil) async throws {
        let registrations = try numbers.map { number in
            ActivityRegistration(
                activity: ActivityID(unchecked: "phone-\(number)"),
                token: try #require(DeviceToken(validating: TestTokens.token(number))),
                environment: .production,
                allowsFrequentUpdates: frequent,
                shownVersion: shown
            )
        }
        for answer in try await store.register(registrations, match: key, by: Self.soon) {
            guard case .stored = answer else {
                Issue.record("refused: \(answer)")
                return
            }
        }
        bell.ring()
    }

    /// Posts an event whose content state has `home`, and expects it to be accepted.
    func event(
        _ home: Int,
        kind: EventKind = .update,
        importance: Importance = .routine,
        alert: String? = nil,
        endHold: Duration = .zero
    ) async throws {
        let answer = try await self.answer(home, kind: kind, importance: importance, alert: alert, endHold: endHold)
        guard case .accepted = answer else {
            Issue.record("not accepted: \(answer)")
            return
        }
        bell.ring()
    }

    /// Posts such an event.
    func answer(
        _ home: Int,
        kind: EventKind = .update,
        importance: Importance = .routine,
        alert: String? = nil,
        endHold: Duration = .zero
    ) async throws -> EventAnswer {
        try await store.accept(
            FeedEvent(
                id: EventID(unchecked: "event-\(home)-\(kind)"),
                kind: kind,
                importance: importance,
                contentState: RawJSON(text: #"{"home":\#(home)}"#),
                alert: alert.map { RawJSON(text: #"{"title":"\#($0)"}"#) }
            ),
            bodyDigest: [1],
            match: key.match,
            tenant: key.tenant,
            endHold: endHold,
            by: Self.soon
        ).answer
    }

    /// Phone `number` has got the token of number `other`.
    func rotate(_ number: Int, to other: Int) async throws {
        let registration = ActivityRegistration(
            activity: ActivityID(unchecked: "phone-\(number)"),
            token: try #require(DeviceToken(validating: TestTokens.token(other))),
            environment: .production,
            allowsFrequentUpdates: true
        )
        _ = try await store.register([registration], match: key, by: Self.soon)
        bell.ring()
    }

    /// Gives the newest version its stamp, as the first claim of it does.
    func stamp() async throws {
        let state = try #require(try await store.matchState(key, in: .production, by: Self.soon))
        _ = try #require(try await store.stamp(state, with: state.now.seconds, by: Self.soon))
    }

    /// Lets go on what stopped, as an admin's `"stopped": null` does.
    func resume() async throws {
        let app = AppKey(
            tenant: key.tenant,
            bundle: try #require(BundleID(validating: Self.bundle)),
            environment: .production
        )
        _ = try await store.changeApp(app, isPaused: nil, resumes: true, by: Self.soon) { _ in }
        try await store.revive(app, by: Self.soon)
        try await store.markBehind(app, by: Self.soon)
        bell.ring()
    }

    // MARK: - Looking

    func value(_ sql: String) async throws -> String? {
        try await store.owner(by: Self.soon, sql).first?.optionalText(0)
    }

    /// Waits until a statement answers true. The engine's work shows only in the database and at the simulator.
    func until(_ sql: String, within limit: Duration = .seconds(90)) async throws {
        let deadline = ContinuousClock.now + limit
        let pause = WakeUp()
        while try await value("SELECT (\(sql))::text") != "true" {
            guard .now < deadline else {
                Issue.record("never true: \(sql)")
                return
            }
            await pause.wait(atMost: .milliseconds(10))
        }
    }

    /// Waits until so many pushes have been handed to the pool and not been answered.
    func untilPushing(_ count: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        let pause = WakeUp()
        while pool.counts.inFlight + pool.counts.waiting < count {
            guard .now < deadline else {
                Issue.record("never \(count) pushes under way")
                return
            }
            await pause.wait(atMost: .milliseconds(2))
        }
    }

    /// Waits until every target has reached the match's version and no straggler is left.
    func untilSettled(within limit: Duration = .seconds(90)) async throws {
        try await until(
            """
            NOT EXISTS (SELECT FROM targets t JOIN matches m USING (tenant_id, match_id)
                        WHERE t.reached_version < m.version)
            AND NOT EXISTS (SELECT FROM stragglers)
            """,
            within: limit
        )
    }

    /// Waits until the simulator has taken so many pushes.
    func untilPushed(_ count: Int, within limit: Duration = .seconds(90)) async throws {
        let deadline = ContinuousClock.now + limit
        let pause = WakeUp()
        while await pushes().values.reduce(0, { $0 + $1.count }) < count {
            guard .now < deadline else {
                Issue.record("never \(count) pushes")
                return
            }
            await pause.wait(atMost: .milliseconds(10))
        }
    }

    /// What each token was sent, in order of arrival: the bodies that the simulator accepted.
    func pushes(last count: Int = 10_000) async -> [String: [SeenPush]] {
        var pushes: [String: [SeenPush]] = [:]
        for request in await simulator.requests(last: count) where request.status == 200 {
            guard let push = SeenPush(request) else { continue }
            pushes[push.recipient, default: []].append(push)
        }
        return pushes
    }

    func shown(on number: Int) async -> String? {
        await simulator.shown(on: TestTokens.token(number))
    }
}

/// A push that the simulator took.
struct SeenPush: Sendable {
    /// The token, or the channel's id.
    let recipient: String
    let priority: Int
    let id: String
    let event: String
    let stamp: Int64
    let home: Int?
    let alert: String?

    init?(_ request: SeenRequest) {
        let body = String(decoding: request.body, as: UTF8.self)
        func after(_ prefix: String, until end: Character) -> String? {
            guard let start = body.firstRange(of: prefix)?.upperBound else { return nil }
            return String(body[start...].prefix { $0 != end })
        }
        guard let stamp = after(#""timestamp":"#, until: ",").flatMap({ Int64($0) }) else { return nil }
        self.stamp = stamp
        recipient = request.headers["apns-channel-id"] ?? String(request.path.split(separator: "/").last ?? "")
        priority = request.headers["apns-priority"].flatMap { Int($0) } ?? 0
        id = request.headers["apns-id"] ?? request.headers["apns-request-id"] ?? ""
        event = after(#""event":""#, until: "\"") ?? ""
        home = after(#"{"home":"#, until: "}").flatMap { Int($0) }
        alert = after(#""alert":{"title":""#, until: "\"")
    }
}
