/// What a template's header blocks have in common as long as a connection's table does not change.
///
/// Owns its memory: the bytes in front of each varying value, then those of the constant fields.
final class PreparedBlock {
    private let template: Int
    private let tableChanges: Int
    /// A field would have entered the table, had the round been older.
    private let mayImprove: Bool
    private let memory: UnsafeMutableBufferPointer<UInt8>
    /// Where each prefix ends, and at last the constants.
    private let ends: [Int]
    private let pseudoCount: Int

    init(
        template: HTTP2RequestTemplate,
        tableChanges: Int,
        mayImprove: Bool,
        prefixes: [ArraySlice<UInt8>],
        constants: ArraySlice<UInt8>
    ) {
        self.template = template.number
        self.tableChanges = tableChanges
        self.mayImprove = mayImprove
        pseudoCount = template.varyingPseudoCount
        let bytes = prefixes.flatMap { $0 } + constants
        memory = .allocate(capacity: bytes.count)
        _ = memory.initialize(from: bytes)
        var end = 0
        ends = (prefixes + [constants]).map { part in
            end += part.count
            return end
        }
    }

    deinit { memory.deallocate() }

    func isGood(for template: HTTP2RequestTemplate, table: borrowing HPACKTable) -> Bool {
        self.template == template.number && tableChanges == table.changes
            && (!mayImprove || table.requestsOfRound < HPACKTable.requestsPerRound)
    }

    /// Writes a block with these varying values, and returns its length.
    func write(_ values: borrowing HTTP2FieldValues, to place: UnsafeMutablePointer<UInt8>) -> Int {
        guard let source = UnsafePointer(memory.baseAddress) else { return 0 }
        return ends.withUnsafeBufferPointer { ends in
            var count = 0
            var start = 0
            for number in 0..<pseudoCount {
                count += Self.write(source + start, ends[number] - start, values[number], to: place + count)
                start = ends[number]
            }
            let constants = values.count == 0 ? 0 : ends[values.count - 1]
            (place + count).update(from: source + constants, count: ends[values.count] - constants)
            count += ends[values.count] - constants
            for number in pseudoCount..<values.count {
                count += Self.write(source + start, ends[number] - start, values[number], to: place + count)
                start = ends[number]
            }
            return count
        }
    }

    /// A field's bytes in front of its value, the value's length, and the value.
    @inline(__always)
    private static func write(
        _ prefix: UnsafePointer<UInt8>,
        _ prefixCount: Int,
        _ value: UnsafeBufferPointer<UInt8>,
        to place: UnsafeMutablePointer<UInt8>
    ) -> Int {
        for byte in 0..<prefixCount { place[byte] = prefix[byte] }
        var count = prefixCount
        count += HPACKLiteral.writeInteger(value.count, bits: 7, flags: 0, to: place + count)
        if let source = value.baseAddress { (place + count).update(from: source, count: value.count) }
        return count + value.count
    }
}
