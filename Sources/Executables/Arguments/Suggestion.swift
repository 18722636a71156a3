/// Finds the known word that a misspelt one was meant to be.
package enum Suggestion {
    /// `Did you mean “match”?`, or where to look when nothing is near.
    ///
    /// `command` is the command or noun whose help lists them.
    static func hint(
        for word: String,
        among known: [String],
        of program: Program,
        help command: String? = nil
    ) -> String {
        if let near = nearest(to: word, among: known) { return "Did you mean “\(near)”?" }
        return "`\(program.name) \(command.map { $0 + " " } ?? "")--help` lists what there is."
    }

    /// The nearest word, if at most a third of its letters differ.
    package static func nearest(to word: String, among known: [String]) -> String? {
        let ranked = Set(known).map { (word: $0, distance: distance(word, $0)) }
            .sorted { ($0.distance, $0.word) < ($1.distance, $1.word) }
        guard let best = ranked.first, best.distance <= max(1, max(word.count, best.word.count) / 3) else { return nil }
        return best.word
    }

    /// How many letters to insert, remove, replace or swap with their neighbour.
    package static func distance(_ from: String, _ to: String) -> Int {
        let (from, to) = (Array(from), Array(to))
        var beforeLast: [Int] = []
        var last = Array(0...to.count)
        for i in from.indices {
            var row = [i + 1]
            for j in to.indices {
                var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (from[i] == to[j] ? 0 : 1))
                if i > 0, j > 0, from[i] == to[j - 1], from[i - 1] == to[j] { best = min(best, beforeLast[j - 1] + 1) }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[to.count]
    }
}
