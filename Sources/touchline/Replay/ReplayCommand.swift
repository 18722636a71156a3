import Executables
import FoundationEssentials

extension Command {
    static let replay = Command(
        "replay",
        "play matches from openfootball files, as a feed would",
        arguments: [Argument("FILE", "openfootball JSON: worldcup.json and the like", repeats: true)],
        options: [
            Option("--speed", "X", default: "600", "so many times as fast as it was, or “max”"),
            Option("--bundle", "BUNDLE", "the app; not needed when there is only one"),
            Option("--environment", "ENV", "sandbox or production; else production, if the app is there"),
            Option("--phones", "N", default: "20", "phones per match, half on its channel, half on tokens"),
            Option("--simulator", "URL", "the simulator's control address, where the phones are"),
            Option("--parallel", "N", default: "32", "matches played at the same time"),
            APIOptions.json,
        ] + APIOptions.all,
        details: """
            Makes the type ScoreAttributes and a match for each in the files (id: the
            file's name without .json, "/", its place), with kick-offs moved to now, and
            posts goals, breaks and ends in the order of play. With --simulator it
            registers phones, and checks in the end that each shows the real result.
            """,
        example: "touchline replay worldcup.json --speed max",
        run: { invocation throws(Failure) in try await replay(invocation) }
    )

    private static func replay(_ invocation: Invocation) async throws(Failure) {
        let pace = try Pace(invocation.required("--speed"))
        let phones = try invocation.integer("--phones", in: 1...100_000) ?? 20
        let parallel = try invocation.integer("--parallel", in: 1...1_000) ?? 32
        let entries = try readEntries(invocation.words)
        let api = try APIOptions.client(invocation, patience: .seconds(60))
        let simulator = try invocation.value("--simulator").map { url throws(Failure) in
            SimulatorClient(api: try APIClient.connecting(to: url, key: nil, patience: .seconds(5)))
        }
        let app = try await KnownApp.choose(
            bundle: invocation.value("--bundle"),
            environment: invocation.value("--environment"),
            api: api
        )
        try await ScoreMatch.putType(bundle: app.bundle, api: api)
        let replay = Replay(
            api: api,
            simulator: simulator,
            bundle: app.bundle,
            environment: app.environment,
            pace: pace,
            phonesPerMatch: phones,
            kickoff: Date.now.formatted(.iso8601),
            matchesAtOnce: parallel
        )
        let outcomes = await replay.run(entries) { done in
            Terminal.progress("\(done) of \(entries.count) matches done")
        }
        Terminal.endProgress()
        try ReplayReport(outcomes: outcomes, hasPhones: simulator != nil).print(asJSON: invocation.isOn("--json"))
    }

    /// Reads all files before anything is sent: a file that cannot be read is no reason to play half.
    private static func readEntries(_ files: [String]) throws(Failure) -> [Replay.Entry] {
        var entries: [Replay.Entry] = []
        for file in files {
            let bytes = try File.read(file)
            let content: OpenFootballFile
            do throws(Failure) {
                content = try OpenFootballFile(json: bytes)
            } catch {
                throw Failure(error.kind, "\(file): \(error.message)", hint: error.hint)
            }
            let stem = URL(filePath: file).deletingPathExtension().lastPathComponent
            var unplayed = 0
            for (index, match) in content.matches.enumerated() {
                if let script = MatchScriptWriter.script(of: match) {
                    entries.append(Replay.Entry(id: "\(stem)/\(index + 1)", script: script))
                } else {
                    unplayed += 1
                }
            }
            if unplayed > 0 { Terminal.complain("\(file): \(unplayed) matches without a score are left out") }
        }
        guard Set(entries.map(\.id)).count == entries.count else {
            throw Failure(.wrongUse, "two files have the same name: their matches would have the same ids")
        }
        guard !entries.isEmpty else { throw Failure(.failed, "the files hold no match that was played") }
        return entries
    }
}
