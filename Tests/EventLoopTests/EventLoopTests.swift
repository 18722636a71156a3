import CLinux
import Glibc
import Synchronization
import Testing

@testable import EventLoop

@Suite("An event loop", .timeLimit(.minutes(1)))
struct EventLoopTests {
    private actor Pinned {
        let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        var readBytes: [UInt8] = []

        init(loop: EventLoop) { self.loop = loop }

        func isOnLoop() -> Bool { loop.isCurrent }

        /// Waits for one byte on `descriptor`, and says what was read.
        func readOne(from descriptor: Int32) async throws -> [UInt8] {
            let bytes = AsyncStream.makeStream(of: UInt8.self)
            let watch = try loop.watch(descriptor, for: .read) { [self] readiness in
                var byte: UInt8 = 0
                guard readiness.contains(.read), read(descriptor, &byte, 1) == 1 else { return }
                readBytes.append(byte)
                bytes.continuation.yield(byte)
            }
            for await _ in bytes.stream { break }
            loop.unwatch(watch)
            return readBytes
        }

        /// Sets timers and returns the order in which they fired.
        func order(of delays: [Duration], cancelling cancelled: Set<Int>) async -> [Int] {
            let fired = AsyncStream.makeStream(of: Int.self)
            let start = ContinuousClock.now
            var timers: [TimerID] = []
            for (index, delay) in delays.enumerated() {
                timers.append(loop.schedule(at: start + delay) { fired.continuation.yield(index) })
            }
            for index in cancelled { loop.cancel(timers[index]) }
            var order: [Int] = []
            for await index in fired.stream {
                order.append(index)
                if order.count == delays.count - cancelled.count { break }
            }
            return order
        }

        /// Sets timers that each set the next, and counts them.
        func chain(of length: Int) async -> Int {
            let done = AsyncStream.makeStream(of: Int.self)
            func next(_ number: Int) {
                guard number < length else { return _ = done.continuation.yield(number) }
                loop.schedule(at: .now) { next(number + 1) }
            }
            next(0)
            for await count in done.stream { return count }
            return 0
        }

        /// Of jobs that each hand in the next, the number that had run when the turn ended.
        func jobsOfATurn() async -> Int {
            let ended = AsyncStream.makeStream(of: Int.self)
            let jobs = Jobs()
            loop.atEndOfTurn { ended.continuation.yield(jobs.count.load(ordering: .relaxed)) }
            jobs.next(on: loop)
            for await count in ended.stream { return count }
            return 0
        }
    }

    /// A hundred jobs, of which each hands in the next.
    private final class Jobs: Sendable {
        let count = Atomic(0)

        func next(on loop: EventLoop) {
            guard count.add(1, ordering: .relaxed).newValue < 100 else { return }
            loop.perform { self.next(on: loop) }
        }
    }

    @Test("lets timers through while jobs keep handing in jobs")
    func letsTimersThrough() async throws {
        let loop = try EventLoop(name: "test")
        let hasFired = Atomic(false)
        await withTaskExecutorPreference(loop) {
            loop.schedule(at: .now + .milliseconds(2)) { hasFired.store(true, ordering: .relaxed) }
            // A loop that forgot its timers would never leave here: the time limit says so.
            while !hasFired.load(ordering: .relaxed) { await Task.yield() }
        }
        loop.shutdown()
    }

    @Test("runs the actors pinned to it on its own thread")
    func runsPinnedActors() async throws {
        let loop = try EventLoop(name: "test")
        let pinned = Pinned(loop: loop)
        #expect(await pinned.isOnLoop())
        #expect(!loop.isCurrent)
        loop.shutdown()
    }

    @Test("tells a watcher that its descriptor is readable")
    func watchesDescriptors() async throws {
        let loop = try EventLoop(name: "test")
        var ends: [Int32] = [0, 0]
        #expect(pipe2(&ends, O_NONBLOCK) == 0)
        let (readEnd, writeEnd) = (ends[0], ends[1])
        let pinned = Pinned(loop: loop)
        async let bytes = pinned.readOne(from: readEnd)
        var byte: UInt8 = 42
        #expect(write(writeEnd, &byte, 1) == 1)
        #expect(try await bytes == [42])
        close(readEnd)
        close(writeEnd)
        loop.shutdown()
    }

    @Test("fires timers by time, those of one instant in the order set, and no cancelled one")
    func firesTimersInOrder() async throws {
        let loop = try EventLoop(name: "test")
        let pinned = Pinned(loop: loop)
        let order = await pinned.order(
            of: [.milliseconds(9), .milliseconds(1), .milliseconds(5), .milliseconds(1), .milliseconds(3)],
            cancelling: [2]
        )
        #expect(order == [1, 3, 4, 0])
        loop.shutdown()
    }

    @Test("a timer may set the next one")
    func timersSetTimers() async throws {
        let loop = try EventLoop(name: "test")
        #expect(await Pinned(loop: loop).chain(of: 5) == 5)
        loop.shutdown()
    }

    @Test("ends a turn after the jobs that its jobs handed in, and after some rounds of them all the same")
    func endsTurns() async throws {
        let loop = try EventLoop(name: "test")
        #expect((2...8).contains(await Pinned(loop: loop).jobsOfATurn()))
        loop.shutdown()
    }

    @Test("finishes the work that it was given before a shutdown")
    func finishesWorkBeforeShutdown() throws {
        let loop = try EventLoop(name: "test")
        let count = Counter()
        for _ in 0..<10_000 { loop.perform { count.value.add(1, ordering: .relaxed) } }
        loop.shutdown()
        #expect(count.value.load(ordering: .relaxed) == 10_000)
    }

    @Test("leaves no descriptor open after a shutdown")
    func closesItsDescriptors() throws {
        for _ in 0..<2_000 { try EventLoop(name: "test").shutdown() }
    }
}

private final class Counter: Sendable {
    let value = Atomic<Int>(0)
}

@Suite("The watches of a loop")
struct WatchTableTests {
    @Test("an event fetched for an ended watch finds nobody, though its slot is used again")
    func dropsStaleEvents() {
        var table = WatchTable()
        let first = table.insert(descriptor: 3, interest: .read) { _ in }
        table.remove(first)
        let second = table.insert(descriptor: 3, interest: .read) { _ in }
        #expect(table.find(first.key) == nil)
        #expect(table.find(second.key) === second)
        #expect(table.find(WatchTable.wakeUpKey) == nil)
    }
}

@Suite("The timers of a loop")
struct TimerQueueTests {
    @Test("seeded random timers fire in the order of a sorted list")
    func firesLikeASortedList() {
        var random = SplitMix(state: 7)
        var queue = TimerQueue()
        var expected: [(at: ContinuousClock.Instant, number: Int)] = []
        let fired = Mutex<[Int]>([])
        let start = ContinuousClock.now
        for number in 0..<1_000 {
            let instant = start + .milliseconds(Int(random.next() % 200))
            let timer = queue.insert(at: instant) { fired.withLock { $0.append(number) } }
            if random.next() % 3 == 0 { queue.cancel(timer) } else { expected.append((instant, number)) }
        }
        for body in queue.takeDue(now: start + .seconds(1)) { body() }
        #expect(fired.withLock { $0 } == expected.sorted { ($0.at, $0.number) < ($1.at, $1.number) }.map(\.number))
        #expect(queue.timeToNext(now: start) == nil)
    }
}

private struct SplitMix {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("Addresses and names", .timeLimit(.minutes(1)))
struct AddressTests {
    @Test(
        "literal addresses are read and printed alike",
        arguments: [
            ("127.0.0.1", 80, "127.0.0.1:80"), ("::1", 443, "[::1]:443"), ("[::1]", 2197, "[::1]:2197"),
        ]
    )
    func readsLiterals(text: String, port: Int, printed: String) throws {
        let address = try #require(SocketAddress(literal: text, port: port))
        #expect(address.description == printed)
        #expect(address.port == port)
        #expect(address.isLoopback)
    }

    @Test("names and wrong ports are no literal addresses")
    func refusesNames() {
        #expect(SocketAddress(literal: "localhost", port: 80) == nil)
        #expect(SocketAddress(literal: "127.0.0.1", port: 65_536) == nil)
    }

    @Test("localhost resolves; a name that cannot exist says so")
    func resolvesNames() async throws {
        let addresses = try await Resolver.resolve(host: "localhost", port: 443, by: .now + .seconds(10))
        #expect(addresses.contains { $0.isLoopback && $0.port == 443 })
        await #expect(throws: ResolverError.self) {
            try await Resolver.resolve(host: "no-such-host.invalid", port: 443, by: .now + .seconds(10))
        }
    }
}
