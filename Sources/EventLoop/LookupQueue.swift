/// Which lookups run, and which wait until one of those has ended, in the order in which they came.
struct LookupQueue<Lookup> {
    enum Admission {
        /// Its owner runs it, and asks for the ``next(_:)`` when it has ended.
        case runs
        case waits
        /// Too many wait.
        case refused
    }

    let mostAtOnce: Int
    let mostWaiting: Int
    private var running = 0
    private var waiting: [Lookup] = []

    init(mostAtOnce: Int, mostWaiting: Int) {
        self.mostAtOnce = mostAtOnce
        self.mostWaiting = mostWaiting
    }

    /// Takes one more. `isAwaited` says whether anybody still wants a lookup that waits.
    mutating func admit(_ lookup: Lookup, isAwaited: (Lookup) -> Bool) -> Admission {
        if running < mostAtOnce {
            running += 1
            return .runs
        }
        if waiting.count >= mostWaiting { waiting.removeAll { !isAwaited($0) } }
        guard waiting.count < mostWaiting else { return .refused }
        waiting.append(lookup)
        return .waits
    }

    /// One has ended: the next that somebody still wants takes its place.
    mutating func next(_ isAwaited: (Lookup) -> Bool) -> Lookup? {
        while !waiting.isEmpty {
            let lookup = waiting.removeFirst()
            if isAwaited(lookup) { return lookup }
        }
        running -= 1
        return nil
    }
}
