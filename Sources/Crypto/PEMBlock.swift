/// The first block of a PEM text (RFC 7468), read as tolerantly as keys are pasted: CRLF, no last newline, lines joined
/// by a literal `\n` (as in environment files and JSON that was escaped twice), blanks around it, a byte order mark.
struct PEMBlock {
    let label: String
    let bytes: [UInt8]

    init(_ text: String) throws(KeyFault) {
        let unescaped = text.unescapingNewlines()
        guard !unescaped.allSatisfy(\.isWhitespace) else { throw .empty }
        guard let begin = unescaped.firstRange(of: "-----BEGIN "),
            let beginEnd = unescaped[begin.upperBound...].firstRange(of: "-----")
        else { throw .notPEM }
        label = String(unescaped[begin.upperBound..<beginEnd.lowerBound])
        // A label of another length would let any text of the file into the answer.
        guard label.utf8.count <= 40, label.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { throw .notPEM }
        guard let end = unescaped[beginEnd.upperBound...].firstRange(of: "-----END \(label)-----") else {
            throw .unfinished
        }
        let body = unescaped[beginEnd.upperBound..<end.lowerBound]
        // An older kind of encryption announces itself in header lines above the base64.
        guard !body.contains("ENCRYPTED") else { throw .encrypted }
        guard let bytes = Base64.decode(String(body.filter { !$0.isWhitespace })) else { throw .notBase64 }
        self.bytes = bytes
    }
}

extension String {
    fileprivate func unescapingNewlines() -> String {
        replacing("\\r", with: "").replacing("\\n", with: "\n").replacing("\u{FEFF}", with: "")
    }

    fileprivate func replacing(_ old: String, with new: String) -> String {
        var result = ""
        var rest = self[...]
        while let range = rest.firstRange(of: old) {
            result += rest[..<range.lowerBound]
            result += new
            rest = rest[range.upperBound...]
        }
        return result + rest
    }
}

extension StringProtocol {
    /// The first place where `needle` stands, by bytes: a CRLF is one `Character`, so characters would miss matches.
    fileprivate func firstRange(of needle: String) -> Range<String.Index>? {
        let target = Array(needle.utf8)
        var start = utf8.startIndex
        while start != utf8.endIndex {
            var index = start
            var matched = 0
            while matched < target.count, index != utf8.endIndex, utf8[index] == target[matched] {
                index = utf8.index(after: index)
                matched += 1
            }
            if matched == target.count { return start..<index }
            start = utf8.index(after: start)
        }
        return nil
    }
}
