/// A world in 512 bits: what two worlds are compared by, and all that is kept of one.
struct PackedWords: Equatable {
    var a: UInt64 = 0
    var b: UInt64 = 0
    var c: UInt64 = 0
    var d: UInt64 = 0
    var e: UInt64 = 0
    var f: UInt64 = 0
    var g: UInt64 = 0
    var h: UInt64 = 0

    var hash: UInt64 {
        var hash = a &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 29) ^ b) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 29) ^ c) &* 0x94D0_49BB_1331_11EB
        hash = (hash ^ (hash >> 29) ^ d) &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 29) ^ e) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 29) ^ f) &* 0x94D0_49BB_1331_11EB
        hash = (hash ^ (hash >> 29) ^ g) &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 29) ^ h) &* 0xBF58_476D_1CE4_E5B9
        return hash ^ (hash >> 32)
    }

    static func == (left: Self, right: Self) -> Bool {
        left.a == right.a && left.b == right.b && left.c == right.c && left.d == right.d && left.e == right.e
            && left.f == right.f && left.g == right.g && left.h == right.h
    }
}

/// Writes small numbers one after the other.
struct Packer {
    private(set) var words = PackedWords()
    private var word = 0
    private var value: UInt64 = 0
    private var used = 0

    mutating func begin() {
        self = Packer()
    }

    mutating func write(_ number: Int, bits: Int) {
        precondition(number >= 0 && number < 1 << bits, "\(number) needs more than \(bits) bits")
        if used + bits > 64 {
            word += 1
            value = 0
            used = 0
        }
        value |= UInt64(truncatingIfNeeded: number) << UInt64(truncatingIfNeeded: used)
        used += bits
        switch word {
        case 0: words.a = value
        case 1: words.b = value
        case 2: words.c = value
        case 3: words.d = value
        case 4: words.e = value
        case 5: words.f = value
        case 6: words.g = value
        case 7: words.h = value
        default: preconditionFailure("a world of more than 512 bits")
        }
    }

    mutating func write(_ flag: Bool) {
        write(flag ? 1 : 0, bits: 1)
    }
}

/// Reads what a ``Packer`` wrote, in the same order.
struct PackReader {
    private let words: PackedWords
    private var word = 0
    private var value: UInt64
    private var used = 0

    init(_ words: PackedWords) {
        self.words = words
        value = words.a
    }

    mutating func read(bits: Int) -> Int {
        if used + bits > 64 {
            word += 1
            used = 0
            switch word {
            case 1: value = words.b
            case 2: value = words.c
            case 3: value = words.d
            case 4: value = words.e
            case 5: value = words.f
            case 6: value = words.g
            default: value = words.h
            }
        }
        let number = (value >> UInt64(truncatingIfNeeded: used)) & ((1 << UInt64(truncatingIfNeeded: bits)) - 1)
        used += bits
        return Int(truncatingIfNeeded: number)
    }

    mutating func readFlag() -> Bool {
        read(bits: 1) == 1
    }
}

/// All worlds that were seen, in the order in which they were. A table of its own: the standard library's is slow in
/// builds without optimisation, and those are what the tests run in.
final class PackedSet {
    private(set) var count = 0
    private var worlds = UnsafeMutablePointer<PackedWords>.allocate(capacity: 1 << 12)
    private var capacity = 1 << 12
    /// Numbers of worlds, counted from 1; 0: free.
    private var slots = UnsafeMutablePointer<UInt32>.allocate(capacity: 1 << 13)
    private var mask: UInt64 = (1 << 13) - 1

    init() {
        slots.initialize(repeating: 0, count: 1 << 13)
    }

    deinit {
        worlds.deallocate()
        slots.deallocate()
    }

    func words(at index: Int) -> PackedWords {
        precondition(index < count)
        return worlds[index]
    }

    /// - Returns: Whether the world is a new one.
    func insert(_ words: PackedWords) -> Bool {
        var slot = words.hash & mask
        while slots[Int(truncatingIfNeeded: slot)] != 0 {
            let index = Int(truncatingIfNeeded: slots[Int(truncatingIfNeeded: slot)]) - 1
            if worlds[index] == words { return false }
            slot = (slot &+ 1) & mask
        }
        if count == capacity {
            grow()
            slot = words.hash & mask
            while slots[Int(truncatingIfNeeded: slot)] != 0 { slot = (slot &+ 1) & mask }
        }
        (worlds + count).initialize(to: words)
        count += 1
        slots[Int(truncatingIfNeeded: slot)] = UInt32(truncatingIfNeeded: count)
        return true
    }

    private func grow() {
        let (more, size) = (capacity * 2, capacity * 4)
        let moved = UnsafeMutablePointer<PackedWords>.allocate(capacity: more)
        moved.moveInitialize(from: worlds, count: count)
        worlds.deallocate()
        worlds = moved
        capacity = more
        slots.deallocate()
        slots = UnsafeMutablePointer<UInt32>.allocate(capacity: size)
        slots.initialize(repeating: 0, count: size)
        mask = UInt64(truncatingIfNeeded: size - 1)
        for index in 0..<count {
            var slot = worlds[index].hash & mask
            while slots[Int(truncatingIfNeeded: slot)] != 0 { slot = (slot &+ 1) & mask }
            slots[Int(truncatingIfNeeded: slot)] = UInt32(truncatingIfNeeded: index + 1)
        }
    }
}
