import Crypto

/// A small pseudo-random generator (SplitMix64): the same seed gives the same run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// Without a seed every run differs.
    init(seed: UInt64?) {
        state = seed ?? SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 24) } }

    /// A random UUID (RFC 9562, version 4) in canonical lower-case form.
    mutating func uuid() -> String {
        var high = next()
        var low = next()
        high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return CanonicalUUID.text((high, low))
    }
}
