internal import Core

/// The path and query of a request, still percent-encoded: `%2F` is no border between segments.
struct RequestTarget: Sendable {
    let segments: [Substring]
    private let query: Substring

    init(_ target: String) {
        // An absolute form (RFC 9112, 3.2.2) is as good as its path.
        var path = target[...]
        if !path.hasPrefix("/"), let scheme = path.firstRange(of: "://") {
            let rest = path[scheme.upperBound...]
            path = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        if let fragment = path.firstIndex(of: "#") { path = path[..<fragment] }
        if let mark = path.firstIndex(of: "?") {
            query = path[path.index(after: mark)...]
            path = path[..<mark]
        } else {
            query = ""
        }
        segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    /// The query's parameters.
    ///
    /// - Throws: `unknown_field` for a name that is not among `names`, `invalid_field` for a name that comes twice or a
    ///   value that is not UTF-8.
    func parameters(_ names: [String]) throws(Problem) -> [String: String] {
        var values: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentDecoding.decode(parts[0]), names.contains(name) else {
                let known = names.isEmpty ? "There are none here." : "Known here: \(names.joined(separator: ", "))."
                // No answer of ours holds a control character, not even in a name that is quoted.
                let given = PercentDecoding.decode(parts[0]) ?? "?"
                let shown = String(String.UnicodeScalarView(given.unicodeScalars.filter { $0.value >= 0x20 }))
                throw Problem(.unknownField, "there is no query parameter \"\(shown)\"", field: shown, hint: known)
            }
            guard let value = PercentDecoding.decode(parts.count == 2 ? parts[1] : "") else {
                throw Problem(.invalidField, "\(name) is not percent-encoded UTF-8", field: name)
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Problem(.invalidField, "\(name) stands twice in the query", field: name)
            }
        }
        return values
    }
}
