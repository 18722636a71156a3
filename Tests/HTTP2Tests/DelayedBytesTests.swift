import Testing

@testable import HTTP2

@Suite("Bytes that are held back for a time")
struct DelayedBytesTests {
    private let start = ContinuousClock.now

    private func append(_ text: String, _ held: inout DelayedBytes, at microseconds: Int) {
        Array(text.utf8).withUnsafeBytes { held.append($0, due: start + .microseconds(microseconds)) }
    }

    private func take(_ held: inout DelayedBytes, at microseconds: Int) -> [String] {
        var taken: [String] = []
        held.takeDue(at: start + .microseconds(microseconds)) { taken.append(String(decoding: $0, as: UTF8.self)) }
        return taken
    }

    @Test("leave in order, those of a millisecond together at its end, and none early")
    func order() {
        var held = DelayedBytes()
        for (text, time) in [("a", 0), ("b", 400), ("c", 1000), ("d", 1001), ("e", 9000)] {
            append(text, &held, at: time)
        }
        #expect(held.nextDue == start + .microseconds(1000))
        var taken = take(&held, at: 999)
        #expect(taken.isEmpty)
        taken = take(&held, at: 1000)
        #expect(taken == ["abc"])
        taken = take(&held, at: 2000)
        #expect(taken.isEmpty)
        taken = take(&held, at: 20_000)
        #expect(taken == ["d", "e"])
        #expect(held.nextDue == nil)
    }

    @Test("are all there however many wait, and however they are taken")
    func many() {
        var held = DelayedBytes()
        var taken = ""
        for number in 0..<5000 {
            append("\(number),", &held, at: number * 300)
            if number > 3000, number % 7 == 0 { taken += take(&held, at: (number - 3000) * 300).joined() }
        }
        taken += take(&held, at: .max >> 24).joined()
        #expect(taken == (0..<5000).map { "\($0)," }.joined())
    }
}
