internal import Core
internal import Executables
internal import FoundationEssentials

extension Command {
    static let matchImport = Command(
        "match import",
        "make and change many matches from a file of fixtures",
        arguments: [Argument("FILE", "JSON lines, a JSON list, CSV, or openfootball JSON; - for standard input")],
        options: [
            Option("--bundle", "BUNDLE", "for fixtures without their own; not needed when there is only one app"),
            Option("--type", "TYPE", "the same, else ScoreAttributes"),
            Option("--content-state", "JSON|@FILE", "the first state of fixtures without their own"),
            Option("--zone", "OFFSET", default: "Z", "of openfootball's kick-offs that name none: +03:00"),
            Option("--renew", "matches that have ended and are played at another time begin anew, for another season"),
            Option("--dry-run", "say what would be made and changed, and do nothing"),
            APIOptions.json,
        ] + APIOptions.all,
        details: """
            A line of JSON is the body of PUT /v1/matches/{match} with “match” beside it: {"match": "m1", "kickoff_at": \
            "2026-08-22T14:00:00Z", "content_state": {"home": 0, "away": 0}}. CSV names its columns in its first line: match, \
            kickoff_at, bundle, type, topics (split by ;), status, ends_after_silence, and content_state.home and the like, where numbers, true, \
            false and null are what they are, and the rest is text. Of openfootball's files the ids are those of `touchline \
            replay`.

            A file that cannot be read to its end is not imported at all: every mistake is named with its line. What the service \
            refuses is named as well, beforehand with --dry-run, and the rest is imported. The same file again changes nothing, \
            and what a broken-off import left undone is done by the next. A match becomes what its line says: topics, attributes \
            and start are taken away where it has none. Matches that the file no longer names stay.
            """,
        example: "touchline match import fixtures.csv --bundle com.acme.scores --type MatchAttributes",
        examples: [
            .init("What would be made and changed", "touchline match import season.jsonl --dry-run"),
            .init(
                "A tournament, with the type that replay uses",
                "touchline match import worldcup.json --bundle com.acme.scores"
            ),
        ]
    ) { invocation throws(Failure) in
        let file = invocation.words[0]
        let fixtures = try read(file, invocation)
        let api = try APIOptions.client(invocation, patience: .seconds(60))
        let bundle = try await KnownApp.choose(bundle: invocation.value("--bundle"), environment: nil, api: api).bundle
        let state = try AdminCommand.json("--content-state", invocation)
        let filled = fixtures.map { fixture in
            var fixture = fixture
            fixture.fill("bundle", with: .string(bundle))
            fixture.fill("type", with: .string(invocation.value("--type") ?? ScoreMatch.type))
            fixture.fill("content_state", with: state)
            return fixture
        }
        let importer = FixtureImport(
            api: api,
            bundle: bundle,
            isDry: invocation.isOn("--dry-run"),
            renews: invocation.isOn("--renew")
        )
        let result: Result<[FixtureImport.Outcome], Failure>
        do throws(Failure) {
            result = .success(
                try await importer.run(filled) { done in
                    Terminal.progress("\(done) of \(filled.count) fixtures done")
                }
            )
        } catch {
            result = .failure(error)
        }
        Terminal.endProgress()
        let report = ImportReport(fixtures: filled, outcomes: try result.get(), isDry: importer.isDry)
        try report.print(asJSON: invocation.isOn("--json"))
    }

    /// The fixtures of a file without mistakes; else all mistakes are printed.
    private static func read(_ file: String, _ invocation: Invocation) throws(Failure) -> [Fixture] {
        let zone = try invocation.required("--zone")
        guard Timestamp("2026-01-01T00:00:00\(zone)") != nil else {
            throw Failure(.wrongUse, "--zone must be Z or as +03:00, not “\(zone)”")
        }
        let stem = file == "-" ? "stdin" : URL(filePath: file).deletingPathExtension().lastPathComponent
        let content = FixtureFile(try File.read(file), FixtureFile.Defaults(stem: stem, zone: zone))
        guard content.faults.isEmpty else {
            for fault in content.faults.prefix(50) { Terminal.complain("\(file), \(fault.place): \(fault.what)") }
            let count = content.faults.count
            if count > 50 { Terminal.complain("and \(count - 50) more") }
            throw Failure(
                .failed,
                "\(file) has \(count == 1 ? "a mistake" : "\(count) mistakes"); nothing was imported",
                hint: "`touchline match import --help` says what a line holds."
            )
        }
        return content.fixtures
    }
}

/// What an import prints in the end.
struct ImportReport: Sendable {
    let fixtures: [Fixture]
    let outcomes: [FixtureImport.Outcome]
    let isDry: Bool

    /// Throws a ``Failure`` when a fixture was refused.
    func print(asJSON: Bool) throws(Failure) {
        for (fixture, failure) in refused where !asJSON {
            Terminal.complain("\(fixture.place), match \(fixture.match): \(failure.message)")
            if let hint = failure.hint { Terminal.complain("       \(hint)") }
        }
        if !asJSON { for line in endedText { Terminal.complain(line) } }
        Terminal.print(asJSON ? json.text : text)
        guard refused.isEmpty else {
            throw Failure(
                .failed,
                "\(refused.count) of \(fixtures.count) fixtures \(refused.count == 1 ? "was" : "were") refused"
            )
        }
    }

    /// `380 fixtures: 380 new, 0 changed, 0 as they were`, and a line for each kind of warning.
    var text: String {
        let would = isDry ? " (nothing was done)" : ""
        let others = refused.isEmpty ? "" : ", \(refused.count) refused"
        let sum = "\(created) new, \(changed) changed, \(unchanged) as they were\(others)\(would)"
        let warnings = warnings.map { "warning: \($0.name) (\($0.count) \($0.count == 1 ? "fixture" : "fixtures"))" }
        return (["\(fixtures.count) \(fixtures.count == 1 ? "fixture" : "fixtures"): \(sum)"] + warnings).joined(
            separator: "\n"
        )
    }

    /// Names the matches whose ids were used before, fifty at most, and the way out.
    var endedText: [String] {
        guard !ended.isEmpty else { return [] }
        let lines = ended.prefix(50).map { "\($0.place), match \($0.match): it has ended, and its events are ignored" }
        let more = ended.count > 50 ? ["and \(ended.count - 50) more"] : []
        return lines + more + ["Import the file with --renew: they begin anew, for another season."]
    }

    var json: JSONOutput {
        [
            "fixtures": .int(fixtures.count), "created": .int(created), "changed": .int(changed),
            "unchanged": .int(unchanged), "dry_run": .bool(isDry),
            "refused": .array(
                refused.map { fixture, failure in
                    [
                        "place": .string(fixture.place), "match": .string(fixture.match),
                        "code": .string(failure.code), "detail": .string(failure.message),
                    ]
                }
            ),
            "ended": .array(ended.map { .string($0.match) }),
            "warnings": .object(warnings.map { ($0.name, .int($0.count)) }),
        ]
    }

    private var created: Int { outcomes.count { if case .created = $0 { true } else { false } } }
    private var changed: Int { outcomes.count { if case .changed = $0 { true } else { false } } }
    private var unchanged: Int { outcomes.count { if case .unchanged = $0 { true } else { false } } }

    private var refused: [(Fixture, Failure)] {
        zip(fixtures, outcomes).compactMap { fixture, outcome in
            if case .refused(let failure) = outcome { (fixture, failure) } else { nil }
        }
    }

    private var ended: [Fixture] {
        zip(fixtures, outcomes).compactMap { $1.warnings.contains(FixtureImport.hasEnded) ? $0 : nil }
    }

    private var warnings: [(name: String, count: Int)] {
        var counts: [String: Int] = [:]
        for warning in outcomes.flatMap(\.warnings) { counts[warning, default: 0] += 1 }
        return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
