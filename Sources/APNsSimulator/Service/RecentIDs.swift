/// Remembers the newest few million message ids, 8 bytes each, to notice one that comes twice.
///
/// Two generations: when the younger is full the older is forgotten. An id is told from others by 64 of its bits, so one in
/// many billions would be taken for another.
struct RecentIDs {
    private static let mostPerGeneration = 4 << 20

    private var young = Generation()
    private var old = Generation()

    private struct Generation {
        var slots = [UInt64](repeating: 0, count: 1024)
        var count = 0
    }

    /// - Returns: Whether the id was there before.
    mutating func insert(_ id: (UInt64, UInt64)) -> Bool {
        var key = (id.0 ^ (id.1 &* 0x9E37_79B9_7F4A_7C15)) &* 0xBF58_476D_1CE4_E5B9
        key ^= key >> 29
        if key == 0 { key = 1 }  // 0 is an empty slot
        if Self.contains(key, old) { return true }
        let mask = young.slots.count - 1
        var position = Int(truncatingIfNeeded: key) & mask
        while young.slots[position] != 0 {
            if young.slots[position] == key { return true }
            position = (position + 1) & mask
        }
        young.slots[position] = key
        young.count += 1
        if young.count == Self.mostPerGeneration {
            old = young
            young = Generation()
        } else if young.count * 2 > young.slots.count {
            grow()
        }
        return false
    }

    private static func contains(_ key: UInt64, _ generation: Generation) -> Bool {
        guard generation.count > 0 else { return false }
        let mask = generation.slots.count - 1
        var position = Int(truncatingIfNeeded: key) & mask
        while generation.slots[position] != 0 {
            if generation.slots[position] == key { return true }
            position = (position + 1) & mask
        }
        return false
    }

    private mutating func grow() {
        let keys = young.slots
        let mask = keys.count * 2 - 1
        young.slots = Array(repeating: 0, count: mask + 1)
        for key in keys where key != 0 {
            var position = Int(truncatingIfNeeded: key) & mask
            while young.slots[position] != 0 { position = (position + 1) & mask }
            young.slots[position] = key
        }
    }
}
