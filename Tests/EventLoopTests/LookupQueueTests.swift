import Testing

@testable import EventLoop

@Suite("Name lookups that wait for one another")
struct LookupQueueTests {
    @Test("run so many at once, in the order in which they came, without those that nobody wants any more")
    func order() {
        var queue = LookupQueue<Int>(mostAtOnce: 2, mostWaiting: 3)
        let admitted = (1...6).map { queue.admit($0) { _ in true } }
        #expect(admitted == [.runs, .runs, .waits, .waits, .waits, .refused])
        #expect(queue.next { $0 != 3 } == 4)
        #expect(queue.next { _ in true } == 5)
        #expect(queue.next { _ in true } == nil)
        #expect(queue.admit(7) { _ in true } == .runs)
        #expect(queue.admit(8) { _ in true } == .waits)
    }

    @Test("make room for one that is wanted where others have been given up")
    func full() {
        var queue = LookupQueue<Int>(mostAtOnce: 1, mostWaiting: 2)
        for number in 1...3 { _ = queue.admit(number) { _ in true } }
        #expect(queue.admit(4) { _ in true } == .refused)
        #expect(queue.admit(5) { $0 != 2 } == .waits)
        #expect(queue.next { _ in true } == 3)
        #expect(queue.next { _ in true } == 5)
    }
}
