/// The number of the newest accepted push of each token, to notice one that was overtaken.
///
/// Twelve bytes a slot, at most half of them in use: 48 MB for a million tokens. Tokens are told apart by 64 bits of a hash.
struct TokenOrders: Sendable {
    /// Pushes to more tokens are not looked at.
    static let mostTokens = 4 << 20

    private var keys = [UInt64](repeating: 0, count: 1024)
    private var numbers = [UInt32](repeating: 0, count: 1024)
    private var count = 0

    /// - Returns: Whether a push with a higher number was accepted for the token before.
    mutating func accept(_ number: UInt32, for token: UInt64) -> Bool {
        let key = token == 0 ? 1 : token  // 0 is an empty slot
        let place = place(of: key)
        if keys[place] == key {
            if number < numbers[place] { return true }
            numbers[place] = number
            return false
        }
        guard count < Self.mostTokens else { return false }
        keys[place] = key
        numbers[place] = number
        count += 1
        if count * 2 > keys.count { grow() }
        return false
    }

    private func place(of key: UInt64) -> Int {
        let mask = keys.count - 1
        var place = Int(truncatingIfNeeded: key) & mask
        while keys[place] != 0, keys[place] != key { place = (place + 1) & mask }
        return place
    }

    private mutating func grow() {
        let (oldKeys, oldNumbers) = (keys, numbers)
        keys = Array(repeating: 0, count: oldKeys.count * 2)
        numbers = Array(repeating: 0, count: oldKeys.count * 2)
        for (index, key) in oldKeys.enumerated() where key != 0 {
            let place = place(of: key)
            keys[place] = key
            numbers[place] = oldNumbers[index]
        }
    }
}
