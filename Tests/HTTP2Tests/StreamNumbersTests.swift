import Testing

@testable import HTTP2

@Suite("The open streams by number")
struct StreamNumbersTests {
    @Test("are found until they are removed, however far apart they lie", arguments: 0..<20)
    func likeADictionary(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var numbers = StreamNumbers()
        var model: [Int32: Int] = [:]
        var next: Int32 = 1
        for _ in 0..<5000 {
            if random.next() % 100 < (model.count > 900 ? 20 : 60) {
                numbers.insert(next, slot: model.count)
                model[next] = model.count
                // Now and then a gap, so that homes collide.
                next += random.next() % 20 == 0 ? 512 : 2
            } else if let number = model.keys.randomElement(using: &random) {
                numbers.remove(number)
                model[number] = nil
            }
        }
        for number in stride(from: 1 as Int32, to: next, by: 2) where numbers[number] != model[number] {
            Issue.record("seed \(seed), stream \(number)")
            return
        }
    }
}
