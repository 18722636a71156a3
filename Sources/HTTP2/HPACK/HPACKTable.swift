/// The dynamic table of the peer's decoder, as our encoder keeps it. Source: RFC 7541, 2.3.2 and 4.
///
/// What is inserted pushes the oldest entries out. So that fields which alternate cannot push each other out for ever, the
/// table is filled by **rounds**: entries of the present round are found again and stay; those of earlier rounds are no
/// longer used and make room. A new round begins when the present one has filled the table and has served
/// ``requestsPerRound`` requests; what does not fit until then goes out as a literal. So at most one table of insertions
/// is paid for in that many requests, and an index that was given stays right as long as ``changes`` stays.
struct HPACKTable {
    /// Ours, whatever more the peer would hold: the default of RFC 9113, 6.5.2, which every peer begins with.
    static let largestBytes = 4096
    static let requestsPerRound = 256

    /// The newest last.
    private var entries: [HPACKField] = []
    private var bytes = 0
    private var limit = Self.largestBytes
    /// The smallest and the last limit that the decoder has not been told of yet.
    private var untold: (smallest: Int, last: Int)?
    private var firstOfRound = 0  // in `entries`
    private var bytesOfRound = 0
    private(set) var requestsOfRound = 0
    /// Grows with everything that moves an index, or must go in front of the next block.
    private(set) var changes = 0

    // MARK: - The peer's limit

    /// The peer's SETTINGS_HEADER_TABLE_SIZE has come.
    mutating func setPeerLimit(_ peerBytes: Int) {
        let wanted = min(peerBytes, Self.largestBytes)
        guard wanted != (untold?.last ?? limit) else { return }
        untold = (min(untold?.smallest ?? limit, wanted), wanted)
        changes += 1
    }

    /// The limits to put in front of the next header block, which then hold: two when it was lowered and raised again
    /// meanwhile (RFC 7541, 4.2).
    mutating func takeLimits() -> [Int] {
        guard let (smallest, last) = untold else { return [] }
        untold = nil
        let limits = smallest < min(limit, last) ? [smallest, last] : last == limit ? [] : [last]
        for newLimit in limits {
            limit = newLimit
            makeRoom(for: 0)
        }
        return limits
    }

    // MARK: - Entries

    /// The index of a field; 0 when it is not there.
    func index(of field: HPACKField) -> Int {
        guard
            let place = entries[firstOfRound...].lastIndex(where: {
                $0.hash == field.hash && $0.name == field.name && $0.value == field.value
            })
        else { return 0 }
        return HPACKStaticTable.count + entries.count - place
    }

    /// The index of a field of this name; 0 when there is none.
    func index(ofName field: HPACKField) -> Int {
        // The first of the round: the newest would move with every value.
        guard
            let place = entries[firstOfRound...].firstIndex(where: {
                $0.nameHash == field.nameHash && $0.name == field.name
            })
        else { return 0 }
        return HPACKStaticTable.count + entries.count - place
    }

    /// Puts a field in, if it may go in.
    ///
    /// - Parameter field: Is sent as a literal that the decoder inserts.
    /// - Returns: `false` when it is too large, or the round has filled the table and is still young.
    mutating func insert(_ field: HPACKField) -> Bool {
        guard fits(field) else { return false }
        if bytesOfRound + field.tableBytes > limit {
            guard requestsOfRound >= Self.requestsPerRound else { return false }
            firstOfRound = entries.count
            bytesOfRound = 0
            requestsOfRound = 0
        }
        makeRoom(for: field.tableBytes)
        entries.append(field)
        bytes += field.tableBytes
        bytesOfRound += field.tableBytes
        changes += 1
        return true
    }

    /// Whether the table could hold it at all.
    func fits(_ field: HPACKField) -> Bool { field.tableBytes <= limit }

    mutating func beganRequest() { requestsOfRound += 1 }

    private mutating func makeRoom(for more: Int) {
        var dropped = 0
        while dropped < entries.count, bytes + more > limit {
            bytes -= entries[dropped].tableBytes
            if dropped >= firstOfRound { bytesOfRound -= entries[dropped].tableBytes }
            dropped += 1
        }
        guard dropped > 0 else { return }
        entries.removeFirst(dropped)
        firstOfRound = max(0, firstOfRound - dropped)
        changes += 1
    }
}
