import Core
import Testing

@Suite("A sweep over a shard's tokens")
struct SweepTests {
    @Test("sends every token the version once and comes to rest", arguments: [1, 9, 10, 11, 100])
    func oneTurn(phones: Int) {
        var shard = ShardModel(phones: phones, pageSize: 10)
        shard.event(isKey: true, hasAlert: true)
        #expect(shard.run() != nil)
        #expect(shard.phones.allSatisfy { $0.versions == [1] && $0.alerts == [1] && $0.priorities == [10] })
        #expect(shard.sweep.reached == 1 && shard.sweep.turn == nil && shard.sweep.lap == nil)
        #expect(shard.page() == .rest)
    }

    @Test("a shard without tokens reaches the version at once")
    func empty() {
        var shard = ShardModel(phones: 1, pageSize: 10)
        shard.phones = []
        shard.event(isKey: true)
        shard.run()
        #expect(shard.sweep.reached == 1)
    }

    @Test("a newer version is taken up at the next page, and the turn ends where it was taken up")
    func takesUpNewerVersion() {
        var shard = ShardModel(phones: 100, pageSize: 10)
        shard.event(isKey: true)
        for _ in 0..<4 { shard.page() }
        shard.event(isKey: true)
        let pages = shard.run()
        #expect(pages == 10)
        #expect(shard.phones.prefix(40).allSatisfy { $0.versions == [1, 2] })
        #expect(shard.phones.dropFirst(40).allSatisfy { $0.versions == [2] })
        #expect(shard.sweep.cursor == 40)
    }

    @Test(
        "urgency and alert of a version that was replaced go round once: nobody misses the alert, nobody has it twice"
    )
    func alertOutlivesItsVersion() {
        var shard = ShardModel(phones: 100, pageSize: 10)
        shard.event(isKey: true, hasAlert: true)
        for _ in 0..<4 { shard.page() }
        shard.event(isKey: false)
        shard.run()
        #expect(shard.phones.allSatisfy { $0.alerts == [1] && $0.versions.last == 2 })
        #expect(shard.phones.prefix(40).allSatisfy { $0.priorities == [10, 5] })
        #expect(shard.phones.dropFirst(40).allSatisfy { $0.priorities == [10] })
    }

    @Test("a key version without an alert leaves the older alert to those who have not had it")
    func olderAlertGoesOn() {
        var shard = ShardModel(phones: 100, pageSize: 10)
        shard.event(isKey: true, hasAlert: true)
        for _ in 0..<4 { shard.page() }
        shard.event(isKey: true)
        shard.run()
        #expect(shard.phones.allSatisfy { $0.alerts == [1] && $0.versions.last == 2 })
    }

    @Test("a newer alert stands for the older one")
    func newerAlert() {
        var shard = ShardModel(phones: 100, pageSize: 10)
        shard.event(isKey: true, hasAlert: true)
        for _ in 0..<4 { shard.page() }
        shard.event(isKey: true, hasAlert: true)
        shard.run()
        #expect(shard.phones.prefix(40).allSatisfy { $0.alerts == [1, 2] })
        #expect(shard.phones.dropFirst(40).allSatisfy { $0.alerts == [2] })
    }

    @Test("a correction takes the alert from those who have not had it")
    func correction() {
        var shard = ShardModel(phones: 100, pageSize: 10)
        shard.event(isKey: true, hasAlert: true)
        for _ in 0..<4 { shard.page() }
        shard.event(isKey: true)
        shard.head.alertExpiresAt = nil
        shard.run()
        #expect(shard.phones.prefix(40).allSatisfy { $0.alerts == [1] })
        #expect(shard.phones.dropFirst(40).allSatisfy { $0.alerts.isEmpty && $0.versions == [2] })
    }

    @Test("a routine version waits for the gap, and a key version that comes meanwhile does not")
    func keyBringsForward() {
        var shard = ShardModel(phones: 20, pageSize: 10)
        shard.event(isKey: false)
        shard.run()
        shard.event(isKey: false)
        #expect(shard.page() == .wait(until: shard.now + .seconds(5)))
        #expect(shard.sweep.taken == 1)
        shard.event(isKey: true)
        shard.run()
        #expect(shard.phones.allSatisfy { $0.versions == [1, 3] && $0.priorities == [5, 10] })
    }

    @Test("at a lap's end the rest of a routine turn waits for the gap")
    func lapBoundary() {
        var shard = ShardModel(phones: 40, pageSize: 10)
        shard.event(isKey: false)
        shard.page()
        shard.now = shard.now + .seconds(1)
        shard.event(isKey: false)
        for _ in 0..<3 { shard.page() }
        #expect(shard.page() == .wait(until: shard.now + .seconds(4)))
        shard.run()
        #expect(shard.phones.prefix(10).allSatisfy { $0.versions == [1, 2] })
        #expect(shard.phones.dropFirst(10).allSatisfy { $0.versions == [2] })
    }

    @Test("rows that came after the take-up are left to their stragglers, and swept with the next version")
    func turnLimit() {
        var shard = ShardModel(phones: 20, pageSize: 10)
        shard.event(isKey: true)
        shard.page()
        shard.phones.append(.init(row: 21))
        shard.run()
        #expect(shard.phones.last?.versions == [])
        shard.event(isKey: true)
        shard.run()
        #expect(shard.phones.last?.versions == [2])
    }

    @Test("an end goes at priority 10 though the allowance is used up")
    func end() {
        var shard = ShardModel(phones: 20, pageSize: 10)
        shard.limits.urgentPerHour = 1
        shard.event(isKey: true)
        shard.run()
        shard.event(isKey: true)
        shard.run()
        shard.event(isKey: true)
        shard.head.endVersion = 3
        shard.run()
        #expect(shard.phones.allSatisfy { $0.priorities == [10, 5, 10] })
    }
}

@Suite("A sweep under random events, registrations, removals and crashes")
struct SweepRandomTests {
    @Test("ends with every token on the newest version", arguments: 0..<60)
    func converges(seed: UInt64) {
        var random = SplitMix(state: seed)
        var shard = ShardModel(phones: Int.random(in: 1...120, using: &random), pageSize: 7)
        var crashes = 0
        for _ in 0..<400 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: shard.event(isKey: true, hasAlert: Bool.random(using: &random))
            case 1, 2: shard.event(isKey: false)
            case 3:
                // Registered: it shows the newest version already, or a straggler brings it.
                let row = (shard.phones.last?.row ?? 0) + 1
                shard.phones.append(.init(row: row, versions: [shard.head.version]))
            case 4 where shard.phones.count > 1:
                shard.phones.remove(at: Int.random(in: 0..<shard.phones.count, using: &random))
            case 5:
                shard.now = shard.now + .milliseconds(Int.random(in: 0..<4000, using: &random))
            case 6:
                // Sent, but killed before the page was committed.
                shard.page(commits: false)
                crashes += 1
            default: shard.page()
            }
        }
        #expect(shard.run() != nil)
        let newest = shard.head.version
        #expect(shard.sweep.reached == newest)
        for phone in shard.phones {
            #expect((phone.versions.last ?? 0) == newest)
            #expect(zip(phone.versions, phone.versions.dropFirst()).allSatisfy { $0 <= $1 })
            let twice = phone.alerts.count - Set(phone.alerts).count
            #expect(twice <= crashes)
        }
    }

    @Test(
        "without crashes no token gets a version or an alert twice, nor routine laps within the gap",
        arguments: 0..<60
    )
    func neverTwice(seed: UInt64) {
        var random = SplitMix(state: seed &+ 1000)
        var shard = ShardModel(phones: 60, pageSize: 7)
        var routineLaps: [Moment] = []
        for _ in 0..<600 {
            if let lap = shard.sweep.pacing.routineAt, lap != routineLaps.last { routineLaps.append(lap) }
            switch Int.random(in: 0..<12, using: &random) {
            case 0: shard.event(isKey: true, hasAlert: Bool.random(using: &random))
            case 1: shard.event(isKey: false)
            case 2: shard.now = shard.now + .milliseconds(Int.random(in: 0..<3000, using: &random))
            default: shard.page()
            }
        }
        shard.run()
        for phone in shard.phones {
            #expect(Set(phone.versions).count == phone.versions.count)
            #expect(Set(phone.alerts).count == phone.alerts.count)
        }
        #expect(zip(routineLaps, routineLaps.dropFirst()).allSatisfy { $1 - $0 >= shard.limits.gap })
    }
}

/// Steele, Lea and Flood's generator: seeded, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
