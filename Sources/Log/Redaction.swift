/// Takes secrets out of text that comes from elsewhere: the words of PostgreSQL, of a peer, of a system call.
///
/// Callers name no secret. This is for what they do not see: an error that quotes the statement, a connection string.
enum Redaction {
    static let mark = "***"

    static func scrub(_ text: String) -> String {
        var scrubbed = cut(text, from: "-----BEGIN", showing: "[PEM]")
        scrubbed = cut(scrubbed, from: "{\"", showing: "{…}")
        scrubbed = passwordsOfAddresses(scrubbed)
        for name in ["password=", "sslpassword=", "passfile="] { scrubbed = value(after: name, in: scrubbed) }
        return words(scrubbed)
    }

    /// JSON and keys in PEM go to the text's end: where they end is the sender's word.
    private static func cut(_ text: String, from start: String, showing: String) -> String {
        guard let range = range(of: start, in: Substring(text)) else { return text }
        return text[..<range.lowerBound] + showing
    }

    /// `postgres://ada:secret@db` becomes `postgres://ada:***@db`.
    private static func passwordsOfAddresses(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while let scheme = range(of: "://", in: rest) {
            result += rest[..<scheme.upperBound]
            rest = rest[scheme.upperBound...]
            let end = rest.firstIndex { $0.isWhitespace || $0 == "\"" } ?? rest.endIndex
            // A password may hold an `@` or a `/` that should have been escaped: the last `@` counts.
            guard let at = rest[..<end].lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") else {
                continue
            }
            result += rest[...colon] + mark
            rest = rest[at...]
        }
        return result + rest
    }

    private static func value(after name: String, in text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while let found = range(of: name, in: rest) {
            result += rest[..<found.upperBound] + mark
            rest = rest[found.upperBound...]
            if rest.first == "'" {
                // libpq's quoting, with backslashes (PostgreSQL, "Keyword/Value Connection Strings").
                var isEscaped = true
                rest = rest.drop { character in
                    defer { isEscaped = character == "\\" && !isEscaped }
                    return character != "'" || isEscaped
                }.dropFirst()
            } else {
                rest = rest.drop { !$0.isWhitespace && $0 != "&" && $0 != "\"" }
            }
        }
        return result + rest
    }

    /// API keys, provider tokens and phones' tokens by their look.
    private static func words(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while !rest.isEmpty {
            let other = rest.prefix { !isOfToken($0) }
            result += other
            rest = rest[other.endIndex...]
            let word = rest.prefix(while: isOfToken)
            rest = rest[word.endIndex...]
            result += shown(word)
        }
        return result
    }

    private static func isOfToken(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "_-.+=".contains(character))
    }

    private static func shown(_ word: Substring) -> String {
        if word.hasPrefix("tl_"), word.utf8.count > 12 { return "tl_\(mark)" }
        if word.hasPrefix("eyJ"), word.utf8.count > 20 { return mark }
        // Tokens of phones are hexadecimal, 32 bytes and more; keys are base64. Names of that length have punctuation.
        let longest = word.split { "_-.=".contains($0) }.map(\.utf8.count).max() ?? 0
        return longest >= 40 ? mark : String(word)
    }

    private static func range(of needle: String, in text: Substring) -> Range<Substring.Index>? {
        var start = text.startIndex
        while start < text.endIndex {
            if text[start...].hasPrefix(needle) {
                return start..<text.index(start, offsetBy: needle.count)
            }
            start = text.index(after: start)
        }
        return nil
    }
}
