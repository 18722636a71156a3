import APNsProtocol
import Core
import Store
import Testing

@testable import Server

@Suite("A wake-up", .timeLimit(.minutes(1)))
struct WakeUpTests {
    @Test("that was given before counts, and two count as one")
    func before() async {
        let wakeUp = WakeUp()
        wakeUp.signal()
        wakeUp.signal()
        await wakeUp.wait(atMost: .seconds(3600))
        let begin = ContinuousClock.now
        await wakeUp.wait(atMost: .milliseconds(20))
        #expect(ContinuousClock.now - begin >= .milliseconds(20))
    }

    @Test("ends the wait of another task, at every of many turns")
    func during() async {
        let (wakeUp, answer) = (WakeUp(), WakeUp())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<500 {
                    await wakeUp.wait(atMost: .seconds(3600))
                    answer.signal()
                }
            }
            for _ in 0..<500 {
                wakeUp.signal()
                await answer.wait(atMost: .seconds(3600))
            }
        }
    }

    @Test("does not come, and the waiting task is cancelled: it goes on")
    func cancelled() async {
        let wakeUp = WakeUp()
        let task = Task { await wakeUp.wait(atMost: .seconds(3600)) }
        task.cancel()
        await task.value
        wakeUp.signal()
        await wakeUp.wait(atMost: .seconds(3600))
    }
}

@Suite("What bounds a process's sweeps", .timeLimit(.minutes(1)))
struct SweepBoundsTests {
    @Test("a free permit goes to who waits for an urgent page first, else in order")
    func permits() async {
        let permits = PagePermits(count: 1)
        #expect(permits.tryTake())
        #expect(!permits.tryTake())
        let order = await withTaskGroup(of: String.self) { group in
            let queued = WakeUp()
            for (name, isUrgent) in [("routine", false), ("urgent", true)] {
                group.addTask {
                    queued.signal()
                    await permits.take(isUrgent: isUrgent)
                    return name
                }
                await queued.wait(atMost: .seconds(10))
            }
            // Both are about to wait; whoever is late finds the permit free, which the order must bear.
            var order: [String] = []
            permits.give()
            for await name in group {
                order.append(name)
                permits.give()
            }
            return order
        }
        #expect(Set(order) == ["routine", "urgent"])
        #expect(permits.tryTake())
    }

    private func record(epoch: Int64) throws -> TargetRecord {
        let match = MatchKey(
            tenant: try #require(TenantID(validating: "t_a")),
            match: MatchID(unchecked: "m")
        )
        let key = TargetKey(match: match, kind: .tokens, environment: .production, cadence: .standard)
        return TargetRecord(key: key, epoch: epoch, isUrgent: false, sweep: Sweep(), backoff: 0, counts: TurnCounts())
    }

    @Test("a lease holds until its time is over, it is lost at a renewal, or another epoch stands there")
    func leases() throws {
        let table = LeaseTable()
        let (first, second) = (try record(epoch: 1), try record(epoch: 2))
        let now = ContinuousClock.now
        table.add([first], until: now + .seconds(10))
        #expect(table.isHeld(first, at: now) && !table.isHeld(second, at: now))
        #expect(!table.isHeld(first, at: now + .seconds(10)))
        let asked = table.epochs
        table.renewed(asked, held: [first.key], until: now + .seconds(20))
        #expect(table.isHeld(first, at: now + .seconds(10)))
        // A renewal that was asked for before the target was claimed anew says nothing about the new lease.
        table.add([second], until: now + .seconds(20))
        table.renewed(asked, held: [], until: now + .seconds(30))
        #expect(table.isHeld(second, at: now))
        table.remove(first)
        #expect(table.count == 1 && table.runningByTenant() == [first.key.match.tenant: 1])
        table.renewed(table.epochs, held: [], until: now)
        #expect(table.count == 0)
    }

    @Test("work under a lease that is lost, or over, is cancelled", arguments: [true, false])
    func lostWork(isLost: Bool) async throws {
        let table = LeaseTable()
        let record = try record(epoch: 1)
        let now = ContinuousClock.now
        table.add([record], until: now + .seconds(10))
        let work = Task {
            let never = WakeUp()
            while !Task.isCancelled { await never.wait(atMost: .seconds(3600)) }
        }
        table.attach(work, to: record)
        if isLost {
            table.renewed(table.epochs, held: [], until: now)
        } else {
            table.expire(at: now + .seconds(10))
        }
        await work.value
        #expect(!table.isHeld(record, at: now))
    }
}
