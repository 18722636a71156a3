import EventLoop
import Glibc
import Log
import TestSupport
import Testing

@Suite("A log with too much to say", .timeLimit(.minutes(1)))
struct FullLogTests {
    @Test("says the first lines of a kind, and how many it left out")
    func samples() {
        let log = LogFixture()
        let logger = Logger(log.output, subsystem: "api")
        for number in 0..<100 { logger.warning("wrong key", ["number": number], limit: 5) }
        logger.info("something else")
        let first = log.lines()
        #expect(first.filter { $0.contains("wrong key; number=") }.count == 5)
        #expect(first.contains { $0.contains("something else") })
        #expect(first.last?.hasSuffix("wrong key; suppressed=95") == true, "\(first)")
    }

    @Test("says what it left out before the next line of the kind, when its time is over")
    func remarks() {
        let log = LogFixture()
        let logger = Logger(log.output, subsystem: "api")
        for number in 0..<3 { logger.warning("wrong key", ["number": number], limit: 1) }
        log.clock.withLock { $0 += 10_000 }
        logger.warning("wrong key", ["number": 3], limit: 1)
        let said = log.lines().map { $0.split(separator: " ").last.map(String.init) ?? "" }
        #expect(said == ["number=0", "suppressed=2", "number=3"])
    }

    @Test("goes on where the clock is set back")
    func clockSetBack() {
        let log = LogFixture()
        let logger = Logger(log.output, subsystem: "api")
        logger.warning("wrong key", ["number": 0], limit: 1)
        log.clock.withLock { $0 -= 86_400_000 }
        logger.warning("wrong key", ["number": 1], limit: 1)
        #expect(log.lines().count == 2)
    }

    @Test("drops lines while nobody reads, waits for nobody, and says how many it dropped")
    func neverWaits() {
        let log = LogFixture()
        let logger = Logger(log.output, subsystem: "api")
        let count = 20_000
        // 2 MB: neither the pipe nor the queue holds that. It would hang here if it waited.
        for number in 0..<count {
            logger.info("a line of some length, so that a pipe is full soon", ["number": number], limit: .max)
        }
        #expect(log.output.droppedLines > 0)
        var written = 0
        var said = 0
        while written + said < count {
            for line in log.read(waiting: true) {
                if let count = line.split(separator: " ").last, count.hasPrefix("dropped=") {
                    said += Int(count.dropFirst("dropped=".count)) ?? 0
                } else {
                    written += 1
                }
            }
        }
        #expect(written + said == count)
        #expect(log.output.droppedLines == said)
    }

    @Test("ends with a reader that went away, and counts what was lost")
    func readerGone() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "pipe")
        close(ends[0])
        defer { close(ends[1]) }
        let output = LogOutput(to: ends[1])
        Logger(output, subsystem: "api").info("unheard")
        output.flush(seconds: 30)
        #expect(output.droppedLines == 1)
    }

    @Test("takes lines from many threads, each whole")
    func manyThreads() async {
        let log = LogFixture()
        await withDiscardingTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    let logger = Logger(log.output, subsystem: "api")
                    for number in 0..<10 { logger.info("seen", ["task": task, "number": number], limit: .max) }
                }
            }
        }
        let lines = log.lines()
        #expect(lines.count == 80)
        #expect(Set(lines).count == 80)
        #expect(lines.allSatisfy { $0.hasPrefix("2026-03-07T15:00:00.123Z info api: seen; task=") })
    }
}
