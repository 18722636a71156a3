internal import Core
internal import Executables

/// A match of a file that is imported.
struct Fixture: Sendable {
    /// Where it stands: `line 3`, `match 12`.
    let place: String
    /// The match's id.
    let match: String
    /// The body of `PUT /v1/matches/{match}`, as far as the file says it.
    var members: [(name: String, value: JSONOutput)]

    /// What the file does not say.
    mutating func fill(_ name: String, with value: JSONOutput?) {
        guard let value, !members.contains(where: { $0.name == name }) else { return }
        members.append((name, value))
    }

    func value(_ name: String) -> JSONOutput? { members.first { $0.name == name }?.value }

    /// Whether it is yet to be played.
    func isAhead(of now: Timestamp) -> Bool { text("kickoff_at").flatMap { Timestamp($0) }.map { $0 > now } ?? false }

    /// A member that is a text.
    func text(_ name: String) -> String? { value(name)?.asText }

    var body: JSONOutput { .object(members) }

    /// The members that a body may have, `match` beside them.
    static let names: Set<String> = [
        "bundle", "type", "kickoff_at", "topics", "attributes", "content_state", "start", "status",
        "ends_after_silence",
        "renew",
    ]
}

/// What is wrong with a file, and where.
struct FixtureFault: Error, Equatable {
    let place: String
    let what: String
}

/// A file of fixtures: those that can be read, and what is wrong with the others.
struct FixtureFile: Sendable {
    private(set) var fixtures: [Fixture] = []
    private(set) var faults: [FixtureFault] = []

    /// What the command line says about files that leave something open.
    struct Defaults: Sendable {
        /// The file's name without what follows the last dot.
        var stem: String
        /// `+03:00`, for kick-offs of openfootball files that name no zone.
        var zone = "Z"
    }

    /// Reads openfootball's JSON, a JSON list, JSON lines, or CSV with a line of names: whichever it is.
    init(_ bytes: [UInt8], _ defaults: Defaults) {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        switch text.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
        case nil: faults.append(FixtureFault(place: "line 1", what: "the file is empty"))
        case UInt8(ascii: "{"), UInt8(ascii: "["): readJSON(text, defaults)
        default: readCSV(text)
        }
        findRepeats()
    }

    private mutating func readJSON(_ bytes: [UInt8], _ defaults: Defaults) {
        guard let whole = try? JSONScanner.decode(bytes) else { return readLines(bytes) }
        switch whole.content {
        case .array(let items):
            for (index, item) in items.enumerated() { add(item, at: "match \(index + 1)") }
        case .object where whole.member("matches") != nil || whole.member("rounds") != nil:
            readOpenFootball(bytes, defaults)
        default:
            add(whole, at: "line 1")
        }
    }

    private mutating func readLines(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.contains(where: { $0 > 0x20 }) {
            let place = "line \(index + 1)"
            do throws(Problem) {
                add(try JSONScanner.decode(Array(line)), at: place)
            } catch {
                faults.append(FixtureFault(place: place, what: error.detail))
            }
        }
    }

    /// One JSON object, the body of `PUT /v1/matches/{match}` with `match` beside it.
    private mutating func add(_ json: JSONValue, at place: String) {
        guard case .object(let members) = json.content else {
            return faults.append(FixtureFault(place: place, what: "it is no JSON object"))
        }
        guard case .string(let match)? = json.member("match")?.content, !match.isEmpty else {
            return faults.append(FixtureFault(place: place, what: "“match”, its id, is missing"))
        }
        let rest = members.filter { $0.name != "match" }
        take(Fixture(place: place, match: match, members: rest.map { ($0.name, .raw($0.value.rawJSON)) }))
    }

    private mutating func readCSV(_ bytes: [UInt8]) {
        let rows: [CSVTable.Row]
        do throws(FixtureFault) {
            rows = try CSVTable.rows(of: bytes)
        } catch {
            return faults.append(error)
        }
        guard let names = rows.first?.cells.map(\.trimmed) else { return }
        if !names.contains("match") || !names.contains("kickoff_at") {
            let what = "the first line must name the columns, match and kickoff_at among them"
            return faults.append(FixtureFault(place: "line 1", what: what))
        }
        for name in names where !CSVTable.isKnown(name) {
            let near = Suggestion.nearest(to: name, among: Array(Fixture.names) + ["match"])
            let hint = near.map { "; did you mean “\($0)”?" } ?? ""
            faults.append(FixtureFault(place: "line 1", what: "there is no column “\(name)”\(hint)"))
        }
        guard faults.isEmpty else { return }
        for row in rows.dropFirst() {
            let place = "line \(row.line)"
            guard row.cells.count == names.count else {
                let what = "it has \(row.cells.count) cells, and the first line has \(names.count)"
                faults.append(FixtureFault(place: place, what: what))
                continue
            }
            do throws(FixtureFault) {
                take(try CSVTable.fixture(row, names: names, place: place))
            } catch {
                faults.append(error)
            }
        }
    }

    private mutating func readOpenFootball(_ bytes: [UInt8], _ defaults: Defaults) {
        let file: OpenFootballFile
        do throws(Failure) {
            file = try OpenFootballFile(json: bytes)
        } catch {
            return faults.append(FixtureFault(place: "the file", what: error.message))
        }
        for (index, match) in file.matches.enumerated() {
            let place = "match \(index + 1)"
            guard let kickoff = match.kickoff(zone: defaults.zone) else {
                let time = [match.date, match.time].compactMap { $0 }.joined(separator: " ")
                faults.append(FixtureFault(place: place, what: "“\(time)” is no date with a time"))
                continue
            }
            let topics = ["competition:\(defaults.stem)", Self.topic(match.home), Self.topic(match.away)]
            take(
                Fixture(
                    place: place,
                    match: "\(defaults.stem)/\(index + 1)",
                    members: [
                        ("kickoff_at", .string(kickoff.description)),
                        ("topics", .array(topics.map { .string($0) })),
                        ("content_state", ScoreState(homeName: match.home, awayName: match.away).json),
                    ]
                )
            )
        }
    }

    /// `team:south-korea`.
    private static func topic(_ team: String) -> String {
        "team:" + team.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
    }

    private mutating func take(_ fixture: Fixture) {
        let unknown = fixture.members.map(\.name).filter { !Fixture.names.contains($0) }
        for name in unknown {
            let near = Suggestion.nearest(to: name, among: Array(Fixture.names))
            let hint = near.map { "; did you mean “\($0)”?" } ?? ""
            faults.append(FixtureFault(place: fixture.place, what: "a match has no “\(name)”\(hint)"))
        }
        guard let kickoff = fixture.value("kickoff_at") else {
            return faults.append(FixtureFault(place: fixture.place, what: "“kickoff_at” is missing"))
        }
        guard let text = kickoff.asText, let time = Timestamp(text) else {
            let what = "kickoff_at is no time as 2026-07-19T19:00:00Z: \(kickoff.text)"
            return faults.append(FixtureFault(place: fixture.place, what: what))
        }
        do throws(Problem) {
            _ = try KickOff.checked(time, field: "kickoff_at")
        } catch {
            return faults.append(FixtureFault(place: fixture.place, what: error.detail))
        }
        if unknown.isEmpty { fixtures.append(fixture) }
    }

    private mutating func findRepeats() {
        var places: [String: String] = [:]
        for fixture in fixtures {
            if let before = places[fixture.match] {
                let what = "the match “\(fixture.match)” stands in \(before) already"
                faults.append(FixtureFault(place: fixture.place, what: what))
            }
            places[fixture.match] = places[fixture.match] ?? fixture.place
        }
    }
}

extension JSONOutput {
    /// The text of a JSON string.
    fileprivate var asText: String? {
        guard let value = try? JSONScanner.decode(bytes), case .string(let text) = value.content else { return nil }
        return text
    }
}

extension OpenFootballMatch {
    /// When it begins; nil without a date, or when the two cannot be read.
    ///
    /// `zone` is used where the time names none: `Z`, `+03:00`.
    func kickoff(zone: String) -> Timestamp? {
        guard let date else { return nil }
        let parts = (time ?? "00:00").split(separator: " ").map(String.init)
        guard let clock = parts.first, parts.count <= 2 else { return nil }
        let hours = clock.count == 4 ? "0" + clock : clock
        return Timestamp("\(date)T\(hours):00\(parts.count == 2 ? Self.offset(parts[1]) : zone)")
    }

    /// `UTC-6`, `UTC+5:30` as `-06:00`, `+05:30`.
    private static func offset(_ text: String) -> String {
        guard text.hasPrefix("UTC") else { return text }
        let rest = text.dropFirst(3)
        guard let sign = rest.first, sign == "+" || sign == "-" else { return rest.isEmpty ? "Z" : String(rest) }
        let parts = rest.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
        let hours = parts.first.map { $0.count == 1 ? "0\($0)" : String($0) } ?? ""
        return "\(sign)\(hours):\(parts.count > 1 ? String(parts[1]) : "00")"
    }
}
