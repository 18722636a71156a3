/// Reads of a header block what the sums need, `apns-id` and `:path`, and steps over the rest (RFC 7541).
///
/// Of the peer's dynamic table only the newest entries are kept, and of those what they are: no text is decoded that nobody
/// asks for. Entries that the table has dropped for its size are kept on; a peer that keeps the rules never names them.
struct FieldSkimmer {
    /// The id of the push, and a hash of its path. A text that is no UUID counts by a hash of it.
    struct Found: Equatable {
        var id: (UInt64, UInt64)?
        var path: UInt64 = 0

        static func == (left: Found, right: Found) -> Bool {
            left.path == right.path && left.id?.0 == right.id?.0 && left.id?.1 == right.id?.1
        }
    }

    private enum Name: UInt8 {
        case other, id, path
    }

    private struct Entry {
        var name = Name.other
        var value: (UInt64, UInt64) = (0, 0)
    }

    /// 4,096 bytes of table hold no more entries: each counts as 32 bytes and its text.
    private static let mostEntries = 128
    private static let staticEntries = 61

    private var entries = [Entry](repeating: Entry(), count: mostEntries)
    private var inserted = 0

    /// - Returns: What the block says; nil when it is broken, and the connection with it.
    mutating func read(_ block: UnsafeRawBufferPointer) -> Found? {
        var found = Found()
        var reader = BlockReader(block)
        while let first = reader.peek() {
            if first & 0x80 != 0 {
                guard let index = reader.integer(prefix: 7), index > 0 else { return nil }
                if index <= Self.staticEntries { continue }
                guard let entry = entry(at: index) else { return nil }
                take(entry, into: &found)
            } else if first & 0xE0 == 0x20 {
                guard reader.integer(prefix: 5) != nil else { return nil }
            } else {
                let isInserted = first & 0x40 != 0
                guard let index = reader.integer(prefix: isInserted ? 6 : 4),
                    let name = name(at: index, &reader), let text = reader.string()
                else { return nil }
                let entry = Entry(name: name, value: Self.value(of: text, name))
                if isInserted {
                    entries[inserted & (Self.mostEntries - 1)] = entry
                    inserted += 1
                }
                take(entry, into: &found)
            }
        }
        return reader.isBroken ? nil : found
    }

    private func take(_ entry: Entry, into found: inout Found) {
        switch entry.name {
        case .other: break
        case .id: found.id = entry.value
        case .path: found.path = entry.value.0
        }
    }

    private func entry(at index: Int) -> Entry? {
        let age = index - Self.staticEntries  // 1: the newest
        guard age <= min(inserted, Self.mostEntries) else { return nil }
        return entries[(inserted - age) & (Self.mostEntries - 1)]
    }

    private func name(at index: Int, _ reader: inout BlockReader) -> Name? {
        if index == 4 || index == 5 { return .path }
        if index > Self.staticEntries { return entry(at: index)?.name }
        if index > 0 { return .other }
        guard let text = reader.string() else { return nil }
        let name: StaticString = text.isHuffman ? "\u{1D}\u{75}\u{21}\u{63}\u{49}" : "apns-id"
        return text.equals(name) ? .id : .other
    }

    private static func value(of text: BlockReader.Text, _ name: Name) -> (UInt64, UInt64) {
        switch name {
        case .other: (0, 0)
        case .path: (text.hash, 0)
        case .id: text.uuid ?? (text.hash, 0)
        }
    }
}
