/// Writes the header blocks of one connection's requests. Source: RFC 7541.
///
/// Constant fields of a template enter the peer's table once and are a byte each from then on; of those whose values the next
/// template will not have only the name is looked for there. Varying ones go out as plain literals with an indexed name, since
/// the Huffman code would cost more time than the bytes that it saves. As long as the table does not change, a template's
/// constant part is copied as it was encoded the last time.
///
/// Blocks must be sent in the order in which they were encoded, each of them: the peer's table follows ours.
struct RequestEncoder {
    private var table = HPACKTable()
    /// By the lowest bits of a template's number.
    private var prepared: [PreparedBlock?] = Array(repeating: nil, count: 64)
    private var scratch: [UInt8] = []

    /// The peer's SETTINGS_HEADER_TABLE_SIZE has come.
    mutating func setPeerTableBytes(_ bytes: Int) { table.setPeerLimit(bytes) }

    /// The most that ``encode(_:_:to:)`` writes.
    static func mostBytes(_ template: HTTP2RequestTemplate, _ values: borrowing HTTP2FieldValues) -> Int {
        template.mostBlockBytes + values.used
    }

    /// Writes one header block.
    ///
    /// - Parameters:
    ///   - template: The constant fields and the names of the varying ones.
    ///   - values: One for each varying name, in their order.
    ///   - place: Has room for ``mostBytes(_:_:)``.
    /// - Returns: How many bytes were written.
    mutating func encode(
        _ template: HTTP2RequestTemplate,
        _ values: borrowing HTTP2FieldValues,
        to place: UnsafeMutablePointer<UInt8>
    ) -> Int {
        precondition(values.count == template.varying.count, "\(values.count) of \(template.varying.count) values")
        table.beganRequest()
        let slot = template.number & (prepared.count - 1)
        if let block = prepared[slot], block.isGood(for: template, table: table) {
            return block.write(values, to: place)
        }
        let block = encodeAnew(template, values)
        prepared[slot] = block
        return scratch.withUnsafeBufferPointer { bytes in
            guard let source = bytes.baseAddress else { return 0 }
            place.update(from: source, count: bytes.count)
            return bytes.count
        }
    }

    // MARK: - A block whose template or table is new

    /// Leaves the block in `scratch`.
    ///
    /// - Returns: What can be copied the next time; `nil` if this block changed the table.
    private mutating func encodeAnew(
        _ template: HTTP2RequestTemplate,
        _ values: borrowing HTTP2FieldValues
    ) -> PreparedBlock? {
        scratch.removeAll(keepingCapacity: true)
        for limit in table.takeLimits() {
            HPACKLiteral.appendInteger(limit, bits: 5, flags: 0x20, to: &scratch)
        }
        let changesBefore = table.changes
        var prefixes: [Range<Int>] = []
        var mayImprove = false
        for number in 0..<template.varyingPseudoCount {
            prefixes.append(appendVarying(template.varying[number], values[number], &mayImprove))
        }
        let constantsStart = scratch.count
        for field in template.constants { appendConstant(field, &mayImprove) }
        let constants = constantsStart..<scratch.count
        for number in template.varyingPseudoCount..<template.varying.count {
            prefixes.append(appendVarying(template.varying[number], values[number], &mayImprove))
        }
        guard table.changes == changesBefore else { return nil }
        return PreparedBlock(
            template: template,
            tableChanges: table.changes,
            mayImprove: mayImprove,
            prefixes: prefixes.map { scratch[$0] },
            constants: scratch[constants]
        )
    }

    private mutating func appendConstant(_ constant: HTTP2RequestTemplate.Field, _ mayImprove: inout Bool) {
        if constant.staticPair > 0 {
            return HPACKLiteral.appendInteger(constant.staticPair, .indexed, to: &scratch)
        }
        let index = constant.isIndexable && constant.isSteady ? table.index(of: constant.field) : 0
        if index > 0 { return HPACKLiteral.appendInteger(index, .indexed, to: &scratch) }
        let name = nameIndex(of: constant)
        let isWanted = constant.isIndexable && (constant.isSteady || name == 0)
        let isInserted = isWanted && table.insert(constant.field)
        if isWanted, !isInserted, table.fits(constant.field) { mayImprove = true }
        let kind: HPACKLiteral.Kind =
            if isInserted { .inserted } else if constant.isSecret { .neverInserted } else { .notInserted }
        appendName(of: constant, index: name, kind)
        scratch += constant.valueLiteral
    }

    /// Returns where the field's bytes in front of its value's length lie.
    private mutating func appendVarying(
        _ field: HTTP2RequestTemplate.Field,
        _ value: UnsafeBufferPointer<UInt8>,
        _ mayImprove: inout Bool
    ) -> Range<Int> {
        let start = scratch.count
        let name = nameIndex(of: field)
        var kind = HPACKLiteral.Kind.notInserted
        if name == 0, field.isIndexable {
            // For the name's sake: from the next request on it is an index.
            let whole = HPACKField(name: field.field.name, value: Array(value))
            if table.insert(whole) { kind = .inserted } else if table.fits(whole) { mayImprove = true }
        }
        appendName(of: field, index: name, kind)
        let end = scratch.count
        HPACKLiteral.appendInteger(value.count, bits: 7, flags: 0, to: &scratch)
        scratch.append(contentsOf: value)
        return start..<end
    }

    private func nameIndex(of field: HTTP2RequestTemplate.Field) -> Int {
        field.staticName > 0 ? field.staticName : table.index(ofName: field.field)
    }

    private mutating func appendName(of field: HTTP2RequestTemplate.Field, index: Int, _ kind: HPACKLiteral.Kind) {
        HPACKLiteral.appendInteger(index, kind, to: &scratch)
        if index == 0 { scratch += field.nameLiteral }
    }
}
