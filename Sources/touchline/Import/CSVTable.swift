internal import Core
internal import Executables

/// Comma-separated values as RFC 4180 has them, and what their columns mean for fixtures.
enum CSVTable {
    struct Row: Equatable, Sendable {
        /// The line that it begins on, from 1.
        let line: Int
        let cells: [String]
    }

    /// Splits a text into rows; empty lines are left out.
    ///
    /// Throws a ``FixtureFault`` where a quote is not closed, or the text is not in UTF-8.
    static func rows(of bytes: [UInt8]) throws(FixtureFault) -> [Row] {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let line = (lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0) + 1
            throw FixtureFault(place: "line \(line)", what: "it is not valid UTF-8: save the file as “CSV UTF-8”")
        }
        var rows: [Row] = []
        var cells: [String] = []
        var cell = ""
        var isQuoted = false
        var (line, first) = (1, 1)
        // Windows' line ends are one Character.
        var letters = Array(text.replacing("\r\n", with: "\n")).makeIterator()
        var letter = letters.next()
        while let current = letter {
            letter = letters.next()
            if isQuoted {
                if current == "\n" { line += 1 }
                if current != "\"" {
                    cell.append(current)
                } else if letter == "\"" {
                    cell.append("\"")
                    letter = letters.next()
                } else {
                    isQuoted = false
                }
                continue
            }
            switch current {
            case "\"" where cell.isEmpty: isQuoted = true
            case ",":
                cells.append(cell)
                cell = ""
            case "\n":
                end(&cells, cell, first, &rows)
                cell = ""
                line += 1
                first = line
            default: cell.append(current)
            }
        }
        guard !isQuoted else { throw FixtureFault(place: "line \(first)", what: "a quote is not closed") }
        end(&cells, cell, first, &rows)
        return rows
    }

    private static func end(
        _ cells: inout [String],
        _ last: String,
        _ line: Int,
        _ rows: inout [Row]
    ) {
        defer { cells = [] }
        cells.append(last)
        guard cells.count > 1 || !last.trimmed.isEmpty else { return }
        rows.append(Row(line: line, cells: cells))
    }

    /// `match`, a member of a match, or `content_state.home`.
    static func isKnown(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 2 { return ["content_state", "attributes"].contains(parts[0]) && !parts[1].isEmpty }
        return name == "match" || Fixture.names.contains(name)
    }

    /// A row as a fixture; empty cells are left out.
    static func fixture(_ row: Row, names: [String], place: String) throws(FixtureFault) -> Fixture {
        var match = ""
        var members: [(name: String, value: JSONOutput)] = []
        var parts: [String: [(String, JSONOutput)]] = [:]
        for (name, cell) in zip(names, row.cells.map(\.trimmed)) where !cell.isEmpty {
            let path = name.split(separator: ".")
            switch name {
            case "match": match = cell
            case "topics":
                let topics = cell.split { ",;".contains($0) }.map { JSONOutput.string(String($0).trimmed) }
                members.append((name, .array(topics)))
            case "content_state", "attributes", "start":
                guard let json = try? JSONScanner.decode(Array(cell.utf8)) else {
                    throw FixtureFault(place: place, what: "\(name) is no JSON: \(cell)")
                }
                members.append((name, .raw(json.rawJSON)))
            case "renew", "ends_after_silence": members.append((name, value(cell)))
            case _ where path.count == 2:
                parts[String(path[0]), default: []].append((String(path[1]), value(cell)))
            default: members.append((name, .string(cell)))
            }
        }
        guard !match.isEmpty else { throw FixtureFault(place: place, what: "“match”, its id, is missing") }
        for (name, values) in parts.sorted(by: { $0.key < $1.key }) { members.append((name, .object(values))) }
        return Fixture(place: place, match: match, members: members)
    }

    /// Numbers, `true`, `false` and `null` as they are, all else as text.
    private static func value(_ cell: String) -> JSONOutput {
        guard let json = try? JSONScanner.decode(Array(cell.utf8)) else { return .string(cell) }
        switch json.content {
        case .number, .bool, .null: return .raw(json.rawJSON)
        case .string, .array, .object: return .string(cell)
        }
    }
}
