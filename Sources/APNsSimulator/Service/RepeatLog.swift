/// The newest accepted pushes that repeated something: the stamp that their phone had already, an older one, or an alert.
struct RepeatLog {
    /// Older ones are forgotten.
    static let capacity = 100_000

    enum Target {
        case token([UInt8])
        case channel(String)
    }

    enum Kind: String {
        /// The newest stamp once more.
        case same
        /// A stamp below the newest.
        case older
        /// An alert, by its title, that has been shown; with any stamp.
        case alert
    }

    struct Entry {
        let target: Target
        let stamp: Int64
        let kind: Kind
        /// It brings an alert that had not been shown.
        let bringsAlert: Bool
        /// UNIX seconds: when it came, and when the newest stamp, or the alert, had come.
        let at: Int64
        let since: Int64
    }

    private var entries: [Entry] = []
    /// How many there were in all.
    private(set) var count = 0

    mutating func add(_ entry: Entry) {
        if entries.count < Self.capacity {
            entries.append(entry)
        } else {
            entries[count % Self.capacity] = entry
        }
        count += 1
    }

    /// Those after the first `after` of all that there were, as far as they are remembered; the oldest first.
    func page(after: Int, limit: Int) -> (entries: [Entry], next: Int?) {
        let first = max(after, count - entries.count)
        let end = min(count, first + max(0, limit))
        guard first < end else { return ([], nil) }
        return ((first..<end).map { entries[$0 % Self.capacity] }, end < count ? end : nil)
    }
}
