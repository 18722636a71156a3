/// The id of one push: `apns-id`, or `apns-request-id` on broadcasts.
///
/// Derived, not drawn: a system call for each push would cost more than the push, and a resend must carry the same id.
package struct APNsID: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// The id of push `index` of a batch.
    ///
    /// Distinct for every index under one seed: 16 bytes, unique for the batch, such as the first half of a hash over
    /// target and stamp. The version and variant bits are set as a custom UUID has them (RFC 9562, 5.8).
    package init(seed: [UInt8], index: UInt32) {
        precondition(seed.count == 16, "an id's seed has \(seed.count) bytes instead of 16")
        let high = seed[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        let low = seed[8...].reduce(0) { $0 << 8 | UInt64($1) }
        self.high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x8000
        self.low = (low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000) ^ UInt64(index)
    }

    /// Reads the canonical form in either case: APNs answers in upper case at times.
    package init?(_ text: some StringProtocol) {
        var digits: [UInt8] = []
        for (place, byte) in text.utf8.enumerated() {
            switch place {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default:
                guard ASCII.isHex(byte) else { return nil }
                digits.append(byte)
            }
        }
        guard digits.count == 32, text.utf8.count == 36 else { return nil }
        func value(_ digits: ArraySlice<UInt8>) -> UInt64 {
            digits.reduce(0) { $0 << 4 | UInt64($1 & 0xF) + ($1 > UInt8(ascii: "9") ? 9 : 0) }
        }
        high = value(digits[..<16])
        low = value(digits[16...])
    }

    /// The two halves, for who writes the canonical form without making a text of it.
    package var words: (high: UInt64, low: UInt64) { (high, low) }

    /// The 16 bytes, most significant first.
    package var bytes: [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(56 - 8 * ($0 % 8))) }
    }
}

extension APNsID: CustomStringConvertible {
    /// The canonical form, 8-4-4-4-12, in lower case.
    package var description: String {
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            var place = 0
            for nibble in 0..<32 {
                if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                    unsafe buffer[place] = UInt8(ascii: "-")
                    place += 1
                }
                let word = nibble < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (nibble % 16))) & 0xF
                unsafe buffer[place] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                place += 1
            }
            return place
        }
    }
}
