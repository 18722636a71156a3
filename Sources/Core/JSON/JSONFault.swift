/// Why a text is not JSON that Touchline takes.
package struct JSONFault: Error, Equatable, Sendable {
    package let kind: Kind
    /// Where: `content_state.cards[0].player`; empty for the whole text.
    package let path: String

    package init(kind: Kind, path: String) {
        self.kind = kind
        self.path = path
    }

    package enum Kind: Equatable, Sendable {
        /// What is wrong, and the byte where it stands, from 0.
        case malformed(String, offset: Int)
        case tooDeep
        case duplicateKey(String)
        case nul
        case loneSurrogate
        case invalidUTF8
    }

    package var problem: Problem {
        let place = path.isEmpty ? nil : path
        switch kind {
        case .malformed(let what, let offset):
            return Problem(.malformedJSON, "\(what), at byte \(offset)", field: place)
        case .tooDeep:
            let deepest = JSONScanner.deepest
            return Problem(.malformedJSON, "the nesting is deeper than \(deepest) levels", field: place)
        case .duplicateKey(let name):
            return Problem(
                .duplicateKey,
                "the key \"\(name)\" stands twice in one object",
                field: place,
                hint: "Phones would keep one of the two; which one is not defined. Send the key once."
            )
        case .nul:
            return Problem(.invalidUnicode, "the text contains NUL (U+0000)", field: place)
        case .loneSurrogate:
            return Problem(
                .invalidUnicode,
                "an escape stands for half a surrogate pair",
                field: place,
                hint: "Escape characters above U+FFFF as two \\u escapes, or send them as UTF-8."
            )
        case .invalidUTF8:
            return Problem(.invalidUnicode, "the text is not valid UTF-8", field: place)
        }
    }
}
