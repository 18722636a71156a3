/// The newest requests with their answers, for people and tests to read.
struct RequestLog {
    /// Older ones are forgotten. Enough for every push of a tournament that is replayed to a few phones a match.
    static let capacity = 20_000

    struct Entry: Sendable {
        let arrived: ArrivedRequest
        let status: Int
        let reason: String?

        var request: ProviderRequest { arrived.fields }
    }

    /// How many there were, forgotten ones included.
    private(set) var added = 0
    private var entries: [Entry] = []
    private var next = 0

    mutating func add(_ entry: Entry) {
        if entries.count < Self.capacity {
            entries.append(entry)
        } else {
            entries[next] = entry
        }
        next = (next + 1) % Self.capacity
        added += 1
    }

    /// The last `count`, the oldest first.
    func last(_ count: Int) -> [Entry] {
        let ordered = entries.count < Self.capacity ? entries : Array(entries[next...] + entries[..<next])
        return Array(ordered.suffix(count))
    }
}
