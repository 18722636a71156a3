internal import Executables

/// `HOST:PORT`.
struct HostAndPort: Equatable, Sendable {
    let host: String
    let port: Int

    init(_ text: String) throws(Failure) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port), colon > text.startIndex
        else { throw Failure(.wrongUse, "“\(text)” is not HOST:PORT") }
        host = String(text[..<colon])
        self.port = port
    }

    /// Whether it is one of Apple's: no load test goes there unless it is told so in as many words.
    var isApples: Bool {
        var name = host.lowercased()[...]
        while name.last == "." { name = name.dropLast() }
        return name == "apple.com" || name.hasSuffix(".apple.com")
    }
}
