/// A header field as our encoder compares and writes it.
struct HPACKField {
    let name: [UInt8]
    let value: [UInt8]
    let nameHash: UInt64
    /// Of name and value: unequal fields are told apart without being compared.
    let hash: UInt64

    init(name: [UInt8], value: [UInt8]) {
        self.name = name
        self.value = value
        nameHash = Self.hash(name, from: 0xCBF2_9CE4_8422_2325)
        hash = Self.hash(value, from: Self.hash([0], from: nameHash))
    }

    /// What it takes of a table (RFC 7541, 4.1).
    var tableBytes: Int { name.count + value.count + 32 }

    /// FNV-1a: a hint only, equality decides.
    private static func hash(_ bytes: [UInt8], from seed: UInt64) -> UInt64 {
        bytes.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
