/// Which slot an open stream has, by its number: a hash table in two arrays that grows, and allocates nothing otherwise.
struct StreamNumbers {
    private var numbers: [Int32]  // 0: free
    private var slots: [Int32]
    private var count = 0
    /// Leaves as many bits as the tables have places for.
    private var shift: UInt32 = 24

    init() {
        numbers = Array(repeating: 0, count: 256)
        slots = Array(repeating: 0, count: 256)
    }

    /// Scattered by the golden ratio: numbers that follow each other would make one long run, which removing walks along.
    @inline(__always)
    private func home(_ number: Int32) -> Int {
        Int((UInt32(bitPattern: number) &* 0x9E37_79B9) >> shift)
    }

    /// The slot of an open stream.
    subscript(_ number: Int32) -> Int? {
        var place = home(number)
        while numbers[place] != number {
            guard numbers[place] != 0 else { return nil }
            place = (place + 1) & (numbers.count - 1)
        }
        return Int(slots[place])
    }

    mutating func insert(_ number: Int32, slot: Int) {
        if 2 * (count + 1) > numbers.count { grow() }
        put(number, Int32(slot))
        count += 1
    }

    /// Forgets a stream that is there.
    mutating func remove(_ number: Int32) {
        let mask = numbers.count - 1
        var place = home(number)
        while numbers[place] != number {
            precondition(numbers[place] != 0, "stream \(number) is not open")
            place = (place + 1) & mask
        }
        count -= 1
        // What follows without a gap moves up, unless that would put it in front of its home.
        var next = (place + 1) & mask
        while numbers[next] != 0 {
            if (next - home(numbers[next])) & mask >= (next - place) & mask {
                numbers[place] = numbers[next]
                slots[place] = slots[next]
                place = next
            }
            next = (next + 1) & mask
        }
        numbers[place] = 0
    }

    private mutating func put(_ number: Int32, _ slot: Int32) {
        var place = home(number)
        while numbers[place] != 0 { place = (place + 1) & (numbers.count - 1) }
        numbers[place] = number
        slots[place] = slot
    }

    private mutating func grow() {
        let old = zip(numbers, slots).filter { $0.0 != 0 }
        numbers = Array(repeating: 0, count: 2 * numbers.count)
        shift -= 1
        slots = Array(repeating: 0, count: numbers.count)
        for (number, slot) in old { put(number, slot) }
    }
}
