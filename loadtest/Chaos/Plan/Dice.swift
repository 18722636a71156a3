/// Random numbers that are the same for the same seed and stream, whatever the Swift version: SplitMix64.
struct Dice: Sendable {
    private var state: UInt64

    /// - Parameters:
    ///   - seed: Of the run.
    ///   - stream: What it is for: numbers of different streams have nothing to do with each other.
    init(seed: Int, stream: String) {
        // FNV-1a.
        state = 0xCBF2_9CE4_8422_2325 ^ UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15
        for byte in stream.utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    mutating func word() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(word() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    mutating func chance(_ percent: Int) -> Bool { number(in: 0...99) < percent }

    mutating func pick<Element>(_ list: [Element]) -> Element { list[number(in: 0...list.count - 1)] }

    /// 64 hexadecimal digits: an update token.
    mutating func token() -> String {
        (0..<4).map { _ in
            let digits = String(word(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    mutating func shuffled<Element>(_ list: [Element]) -> [Element] {
        var list = list
        for index in list.indices.dropFirst() { list.swapAt(index, number(in: 0...index)) }
        return list
    }
}
