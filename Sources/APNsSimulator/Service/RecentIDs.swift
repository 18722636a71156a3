/// Remembers message ids, to notice one that comes twice.
///
/// Sixty-four neighbours share a slot of 16 bytes, so that ids that count up (as Touchline derives them) cost two bits each,
/// random ones 16 to 32 bytes. Two generations: when the younger is full the older is forgotten, so that the memory is
/// bounded by 256 MB, and all of the newest four million are known, however they are made. A block of ids is told from
/// others by 64 bits of a hash, so one in many billions would be taken for another.
struct RecentIDs: Sendable {
    private let mostBlocks: Int
    private var young = Generation()
    private var old = Generation()
    /// How often older ids were forgotten.
    private(set) var generationsForgotten = 0

    /// - Parameter mostBlocks: Slots in use a generation.
    init(mostBlocks: Int = 4 << 20) { self.mostBlocks = mostBlocks }

    /// - Returns: Whether the id was there before.
    mutating func insert(_ id: (UInt64, UInt64)) -> Bool {
        var key = (id.0 ^ ((id.1 >> 6) &* 0x9E37_79B9_7F4A_7C15)) &* 0xBF58_476D_1CE4_E5B9
        key ^= key >> 29
        if key == 0 { key = 1 }  // 0 is an empty slot
        let bit = UInt64(1) << (id.1 & 63)
        if old.count > 0, old.has(key, bit) { return true }
        let wasThere = young.insert(key, bit)
        if young.count == mostBlocks {
            if old.count > 0 { generationsForgotten += 1 }
            old = young
            young = Generation()
        }
        return wasThere
    }
}

private struct Generation: Sendable {
    /// Pairs of a block's key and its ids' bits.
    private var slots = [UInt64](repeating: 0, count: 2048)
    private(set) var count = 0

    func has(_ key: UInt64, _ bit: UInt64) -> Bool {
        let place = place(of: key)
        return slots[place] == key && slots[place + 1] & bit != 0
    }

    mutating func insert(_ key: UInt64, _ bit: UInt64) -> Bool {
        let place = place(of: key)
        if slots[place] == key {
            defer { slots[place + 1] |= bit }
            return slots[place + 1] & bit != 0
        }
        slots[place] = key
        slots[place + 1] = bit
        count += 1
        if count * 4 > slots.count { grow() }
        return false
    }

    /// Of the block's pair, or of the empty one where it would go.
    private func place(of key: UInt64) -> Int {
        let mask = slots.count - 1
        var place = Int(truncatingIfNeeded: key << 1) & mask
        while slots[place] != 0, slots[place] != key { place = (place + 2) & mask }
        return place
    }

    private mutating func grow() {
        let before = slots
        slots = Array(repeating: 0, count: before.count * 2)
        for index in stride(from: 0, to: before.count, by: 2) where before[index] != 0 {
            let place = place(of: before[index])
            slots[place] = before[index]
            slots[place + 1] = before[index + 1]
        }
    }
}
