import Core
import Testing

@Suite("Shards, beyond what is explored")
struct ShardRulesTests {
    private static let now = Moment(seconds: 1_790_000_000)
    private let limits = PerCadence(
        frequent: PacingLimits(gap: .seconds(5), urgentPerHour: 1),
        standard: PacingLimits(gap: .seconds(60), urgentPerHour: 1)
    )

    private func match(_ versions: String) -> StampedMatch {
        var match = StampedMatch()
        for letter in versions {
            switch letter {
            case "a": match.accept(isKey: true, alertExpiresAt: Self.now + .seconds(120))
            case "e": match.end()
            case "x": match.repeatOnChannels()
            default: match.accept(isKey: letter == "k")
            }
        }
        match.stamp()
        return match
    }

    private func phone(_ registration: Int64, _ cadence: Cadence = .frequent, _ entry: Entry? = nil) -> Phone {
        Phone(registration: registration, registeredAt: Self.now - .seconds(60), cadence: cadence, entry: entry)
    }

    private func committed(
        _ plan: SendPlan,
        _ resolutions: [Resolution],
        _ phones: [Phone],
        shard: Shard = Shard()
    ) -> CommitPlan? {
        CommitPlan(
            plan,
            resolutions: resolutions,
            shard: shard,
            phones: Dictionary(uniqueKeysWithValues: phones.enumerated().map { ($0.offset, $0.element) }),
            holdUntil: Self.now + .seconds(30),
            now: Self.now
        )
    }

    @Test("a thousand phones are sent to at once, and only those that failed leave rows")
    func wholeShard() throws {
        let phones = (0..<1000).map { phone(Int64($0), $0 % 2 == 0 ? .frequent : .standard) }
        let plan = try #require(
            SendPlan(match: match("a"), shard: Shard(), phones: phones, limits: limits, now: Self.now)
        )
        #expect(plan.pushes.count == 1000)
        #expect(plan.pushes.allSatisfy { $0.carriesAlert && $0.priority == 10 })
        var resolutions = Array(repeating: Resolution.accepted, count: 1000)
        resolutions[7] = .failed(.unknown)
        #expect(plan.phonesToLock(resolutions) == [7])
        let commit = try #require(committed(plan, resolutions, phones))
        #expect(commit.shard.reached == PerCadence(both: 1) && commit.shard.alerted == 1)
        #expect(commit.changes.map(\.phone) == [7])
        #expect(commit.lines.map(\.accepted) == [500, 499] && commit.lines.allSatisfy(\.isBalanced))
    }

    @Test("an allowance that is used up lets key versions go at priority 5, and an end at 10")
    func priorities() {
        var shard = Shard()
        shard.pacing = PerCadence(both: PacingRecord(urgentAt: [Self.now - .seconds(1)]))
        for (story, priority) in [("k", 5), ("e", 10), ("r", 5)] {
            let entry = Entry(version: 0, alert: 0)
            let plan = SendPlan(
                match: match(story),
                shard: shard,
                phones: [phone(1), phone(2, .standard, entry)],
                limits: limits,
                now: Self.now
            )
            #expect(plan?.pushes.map(\.priority) == [priority, priority], "\(story)")
        }
    }

    @Test("failures of one version are counted, those of an older one are not", arguments: [(1, 40), (0, 1)])
    func attempts(tried: Int64, expected: Int) throws {
        let entry = Entry(version: 0, alert: 0, attempts: 39, tried: tried, dueAt: Self.now)
        let phones = [phone(1, .frequent, entry)]
        let shard = Shard(reached: PerCadence(both: 1))
        let plan = try #require(
            SendPlan(match: match("r"), shard: shard, phones: phones, limits: limits, now: Self.now)
        )
        let commit = try #require(committed(plan, [.failed(.unknown)], phones, shard: shard))
        guard case .writeEntry(let written)? = commit.changes.first?.change else {
            Issue.record("no entry")
            return
        }
        #expect(written.attempts == expected)
        #expect((written.dueAt == nil) == (expected == RetryRule.attempts))
        #expect(written.isExhausted(needed: 1) == (expected == RetryRule.attempts))
        #expect(!written.isExhausted(needed: 2))
    }

    @Test("a failed key version goes again within two minutes, whatever APNs asks for")
    func urgentRetry() throws {
        for (story, longest) in [("k", 120), ("r", 900)] {
            let phones = [phone(1)]
            let plan = try #require(
                SendPlan(match: match(story), shard: Shard(), phones: phones, limits: limits, now: Self.now)
            )
            let commit = try #require(committed(plan, [.failed(.later(after: .seconds(3000)))], phones))
            guard case .writeEntry(let entry)? = commit.changes.first?.change, let dueAt = entry.dueAt else {
                Issue.record("no entry")
                return
            }
            #expect(dueAt <= Self.now + .seconds(longest) && dueAt >= Self.now + .seconds(longest))
        }
    }

    @Test("a dead token is removed, unless it was registered after APNs' timestamp")
    func deadTokens() throws {
        let phones = [phone(1)]
        let plan = try #require(
            SendPlan(match: match("k"), shard: Shard(), phones: phones, limits: limits, now: Self.now)
        )
        let removed = committed(plan, [.dead(asOf: Self.now)], phones)
        #expect(removed?.changes.map(\.change) == [.removePhone])
        let kept = committed(plan, [.dead(asOf: Self.now - .seconds(61))], phones)
        guard case .writeEntry? = kept?.changes.first?.change else {
            Issue.record("no entry")
            return
        }
        let aside = committed(plan, [.refused(reason: "BadDeviceToken")], phones)
        #expect(aside?.changes.map(\.change) == [.setAside(reason: "BadDeviceToken")])
    }

    @Test("a phone that names more than what has a stamp is taken to show the newest stamped version")
    func namesTooMuch() {
        func register(_ shown: Int64?) -> RegistrationPlan {
            RegistrationPlan(
                shown: shown,
                cadence: .frequent,
                isNewToken: true,
                former: nil,
                reached: 0,
                match: match("kk"),
                now: Self.now
            )
        }
        #expect(register(1_000_000).entry?.version == 2)
        #expect(register(-5).entry?.version == 0)
        #expect(register(nil).isBehind && !register(2).isBehind)
        #expect(register(2).entry?.dueAt == nil && register(1).entry?.dueAt == Self.now)
    }

    @Test("a registration with the same token does not come before the time that APNs asked for")
    func retryStays() {
        let waits = Entry(version: 1, alert: 0, attempts: 3, tried: 2, dueAt: Self.now + .seconds(60))
        for (isNewToken, cadence, dueAt) in [
            (false, Cadence.frequent, Self.now + .seconds(60)), (true, .frequent, Self.now),
            (false, .standard, Self.now),
        ] {
            let plan = RegistrationPlan(
                shown: nil,
                cadence: cadence,
                isNewToken: isNewToken,
                former: RegistrationPlan.Former(cadence: .frequent, entry: waits),
                reached: 2,
                match: match("rr"),
                now: Self.now
            )
            #expect(plan.entry?.dueAt == dueAt)
            #expect(plan.entry?.attempts == 0)
        }
    }

    @Test("a repeat needs no phone, and an end's repeat is an end")
    func repeats() {
        #expect(match("rx").neededVersion == 1 && match("rx").version == 2)
        #expect(match("ex").isEnd && !match("rx").isEnd)
        #expect(Channel(reached: 1, keepsNewest: true).needed(of: match("rx")) == 1)
        #expect(Channel(reached: 1, keepsNewest: false).needed(of: match("rx")) == 2)
        let ended = Self.now
        let minutes = (0...4).map { RepeatRule.next(keyAt: ended, endedAt: ended, repeats: $0).map { $0 - ended } }
        #expect(minutes == [.seconds(60), .seconds(300), .seconds(1800), .seconds(7200), nil])
        #expect(RepeatRule.next(keyAt: ended, endedAt: nil, repeats: 0) == ended + .seconds(30))
    }
}

@Suite("Places in shards")
struct PlacesTests {
    @Test("a million newcomers fill shards of 100 to 1,000, none more than a twelfth of what was there")
    func million() {
        var places = Places()
        var sizes: [Int: Int] = [:]
        var made: Set<Int> = []
        for _ in 0..<1000 {
            for share in places.take(1000) {
                #expect(share.isNew == made.insert(share.shard).inserted)
                sizes[share.shard, default: 0] += share.count
            }
        }
        #expect(sizes.values.reduce(0, +) == 1_000_000)
        #expect(sizes.values.max() == 1000 && sizes.values.min() == 100)
        #expect(sizes.count < 1050)
        for shard in 1..<places.shards - 1 {
            let before = (0..<shard).reduce(0) { $0 + (sizes[$1] ?? 0) }
            #expect(sizes[shard] == min(max(before / 12, 100), 1000))
        }
    }

    @Test("a shard's holes are filled once it is less than half full, and no other is being filled")
    func holes() {
        var places = Places()
        _ = places.take(100)
        let full = places
        var half = full
        let isOffered = half.reopen(0, phones: 50, size: 100)
        #expect(!isOffered && half == full)
        var open = full
        let isReopened = open.reopen(0, phones: 49, size: 100)
        #expect(isReopened && open.free == 51)
        #expect(open.take(60) == [.init(shard: 0, count: 51, isNew: false), .init(shard: 1, count: 9, isNew: true)])
        let isOfferedAgain = open.reopen(0, phones: 10, size: 100)
        #expect(!isOfferedAgain)
    }
}
