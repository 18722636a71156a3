/// Finds numbers by token: an open-addressed table over one arena of bytes, so that a million tokens stay cheap.
struct TokenTable {
    private var slots: [Int32] = Array(repeating: -1, count: 1024)  // an entry's number, or -1
    private var hashes: [UInt32] = []  // by entry
    private var ends: [Int] = []  // by entry: where its bytes end in the arena
    private var arena: [UInt8] = []

    var count: Int { hashes.count }

    /// The entry of these bytes, if there is one.
    func find(_ token: [UInt8]) -> Int? {
        let entry = slots[slot(of: token, hash: Self.hash(token))]
        return entry < 0 ? nil : Int(entry)
    }

    /// The entry of these bytes, made if there was none. Entries are numbered from 0.
    mutating func insert(_ token: [UInt8]) -> (entry: Int, isNew: Bool) {
        let hash = Self.hash(token)
        let position = slot(of: token, hash: hash)
        if slots[position] >= 0 { return (Int(slots[position]), false) }
        slots[position] = Int32(hashes.count)
        hashes.append(hash)
        arena.append(contentsOf: token)
        ends.append(arena.count)
        if hashes.count * 2 > slots.count { grow() }
        return (hashes.count - 1, true)
    }

    func token(of entry: Int) -> ArraySlice<UInt8> { arena[(entry == 0 ? 0 : ends[entry - 1])..<ends[entry]] }

    /// The slot that holds the token, or the empty one where it would go.
    private func slot(of token: [UInt8], hash: UInt32) -> Int {
        let mask = slots.count - 1
        var position = Int(hash) & mask
        while true {
            let entry = Int(slots[position])
            if entry < 0 || (hashes[entry] == hash && self.token(of: entry).elementsEqual(token)) { return position }
            position = (position + 1) & mask
        }
    }

    private mutating func grow() {
        let mask = slots.count * 2 - 1
        slots = Array(repeating: -1, count: mask + 1)
        for (entry, hash) in hashes.enumerated() {
            var position = Int(hash) & mask
            while slots[position] >= 0 { position = (position + 1) & mask }
            slots[position] = Int32(entry)
        }
    }

    /// FNV-1a, mixed at the end: tokens are random, or counted up by a script.
    private static func hash(_ token: [UInt8]) -> UInt32 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in token { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return UInt32(truncatingIfNeeded: hash ^ (hash >> 32))
    }
}
