internal import Core
internal import Executables
internal import FoundationEssentials

/// A match at one moment, as `match watch` shows it: its state, and what became of its newest versions.
struct WatchedMatch: Equatable, Sendable {
    /// The newest line of a kind of target, as `deliveries` has it.
    struct Send: Equatable, Sendable, Decodable {
        let target: String
        let environment: String
        let cadence: String
        var versions: [Int] = []
        var state: String
        var wanted = 0
        var accepted = 0
        var removed = 0
        var refused = 0
        var given_up = 0
        var merged = 0
        var waiting = 0
        var behind = 0
        var behind_since: String?
        var last_answer: String?

        var failed: Int { refused + given_up }
        fileprivate var place: [String] { [target, environment, cadence] }
    }

    /// How far a target has come.
    private struct Reached: Decodable {
        let target: String
        let environment: String
        let cadence: String
        let reached: Int
    }

    struct Channel: Equatable, Sendable, Decodable {
        let environment: String
        let cadence: String
        let state: String
        let last_error: String?
    }

    private struct Body: Decodable {
        let match: String
        let bundle: String
        let status: String
        let version: Int
        let kickoff_at: String
        let paused: Bool
        let channels: [Channel]
    }

    private struct Apps: Decodable {
        struct App: Decodable {
            struct Stopped: Decodable {
                let tokens: String?
                let channels: String?
            }

            let bundle: String
            let environment: String
            let paused: Bool
            let stopped: Stopped
        }

        let items: [App]
    }

    private struct Deliveries: Decodable {
        let sends: [Send]
        let targets: [Reached]
    }

    let match: String
    let status: String
    let version: Int
    let kickoffAt: String
    let isPaused: Bool
    /// JSON, as it came.
    let contentState: String
    /// `Argentina 3–2 France`; nil where the state has no `home` and `away`.
    let score: String?
    let channels: [Channel]
    /// What keeps its app's pushes back, a line each.
    let held: [String]
    /// One for each kind of target, environment and cadence, in the order of the service.
    let sends: [Send]

    /// Reads the answers of `GET /v1/matches/{match}`, and of its `deliveries` and of `GET /v1/apps`, if the key may see those.
    init(
        match answer: APIClient.Answer,
        deliveries: APIClient.Answer?,
        apps: APIClient.Answer? = nil
    ) throws(Failure) {
        let body = try answer.decode(Body.self)
        match = body.match
        status = body.status
        version = body.version
        kickoffAt = body.kickoff_at
        isPaused = body.paused
        channels = body.channels
        held = Self.held(try apps?.decode(Apps.self).items.filter { $0.bundle == body.bundle } ?? [])
        let state = (try? JSONScanner.decode(answer.body))?.member("content_state")
        contentState = state?.rawJSON.text ?? ""
        score = Self.score(state)
        let read = try deliveries?.decode(Deliveries.self)
        var newest: [[String]: Send] = [:]
        var order: [[String]] = []
        for send in read?.sends ?? [] {
            if newest[send.place] == nil { order.append(send.place) }
            if let known = newest[send.place], (known.versions.last ?? 0) > (send.versions.last ?? 0) { continue }
            newest[send.place] = send
        }
        // What has come to the match's version with nothing to send has no line.
        for target in read?.targets ?? [] {
            let send = Send(
                target: target.target,
                environment: target.environment,
                cadence: target.cadence,
                state: "ready"
            )
            guard newest[send.place] == nil else { continue }
            order.append(send.place)
            newest[send.place] = send
        }
        sends = order.compactMap { newest[$0] }
    }

    private static func held(_ apps: [Apps.App]) -> [String] {
        apps.flatMap { app in
            [
                app.paused ? "is paused" : nil, app.stopped.channels.map { "channels stopped: \($0)" },
                app.stopped.tokens.map { "tokens stopped: \($0)" },
            ]
            .compactMap { $0.map { "app \(app.bundle) \(app.environment) \($0)" } }
        }
    }

    private static func score(_ state: JSONValue?) -> String? {
        func text(_ name: String) -> String? {
            switch state?.member(name)?.content {
            case .number(let digits): digits
            case .string(let text): text
            default: nil
            }
        }
        guard let home = text("home"), let away = text("away") else { return nil }
        let names = [text("home_name"), text("away_name")].map { $0 ?? "" }
        var score = "\(names[0]) \(home)–\(away) \(names[1])".trimmed
        if let clock = text("clock") ?? text("minute"), !clock.isEmpty { score += "  \(clock)" }
        return score
    }

    /// Pushes that are still to come.
    var waiting: Int { sends.reduce(0) { $0 + $1.toCome } }

    /// Pushes that came to nothing.
    var failed: Int { sends.reduce(0) { $0 + $1.failed } }

    /// Nothing comes after this.
    var isOver: Bool {
        ["ended", "abandoned"].contains(status) && waiting == 0
            && sends.allSatisfy { ["done", "ready"].contains($0.state) }
    }

    /// What went wrong, a line each.
    var errors: [String] {
        held + channelErrors
            + sends.filter { $0.failed > 0 }.map {
                "\($0.target) \($0.environment) \($0.cadence): \($0.refused) refused, \($0.given_up) given up"
            }
    }

    /// What is behind, since when and why, a line each.
    func behind(now: Date) -> [String] { sends.compactMap { $0.behindLine.sentence(now: now) } }

    private var channelErrors: [String] {
        channels.compactMap { channel in
            channel.last_error.map { "channel \(channel.environment) \(channel.cadence), \(channel.state): \($0)" }
        }
    }

    /// For a program, or a log: one line.
    var line: String {
        let done = sends.count { ["done", "ready"].contains($0.state) }
        return "\(match)  \(status)\(isPaused ? ", paused" : "")  version \(version)  \(score ?? contentState)  "
            + "targets \(done)/\(sends.count)  waiting \(waiting)  errors \(failed + channelErrors.count + held.count)"
    }

    /// For a screen.
    func lines(width: Int, now: Date) -> [String] {
        let head = "\(match)  \(status)\(isPaused ? ", PAUSED" : "")  version \(version)"
        let time = now.formatted(.iso8601)
        let space = String(repeating: " ", count: max(2, width - head.count - time.count))
        var lines = [head + space + time, "", "  \(score ?? contentState)", "", "kick-off \(kickoffAt)"]
        if score != nil { lines.append(contentState) }
        lines.append("")
        if sends.isEmpty {
            lines.append("nothing was sent yet")
        } else {
            let titles = [
                "TARGET", "ENV", "CADENCE", "VERSIONS", "STATE", "TAKEN", "GONE", "REFUSED", "GIVEN UP", "WAIT",
            ]
            var table = Table(titles, rightAligned: [5, 6, 7, 8, 9], width: width)
            for send in sends { table.add(send.cells) }
            lines += table.text.split(separator: "\n").map(String.init)
        }
        lines += ["", "waiting \(waiting), failed \(failed)"] + behind(now: now) + errors
        return lines.map { $0.count <= width ? $0 : $0.prefix(width - 1) + "…" }
    }
}

extension WatchedMatch.Send {
    /// What is behind counts; where nobody has counted it yet, it is one at least.
    fileprivate var toCome: Int {
        let open = ["waiting", "sending"].contains(state) ? max(0, wanted - ended) : 0
        return max(behind, waiting, open, state == "waiting" ? 1 : 0)
    }

    fileprivate var ended: Int { accepted + removed + refused + given_up + merged }

    fileprivate var behindLine: BehindLine {
        BehindLine(
            target: target,
            environment: environment,
            cadence: cadence,
            behind: behind,
            behind_since: behind_since,
            last_answer: last_answer
        )
    }

    fileprivate var cells: [String] {
        let range =
            versions.first == versions.last
            ? versions.first.map { "\($0)" } ?? "–" : versions.map(String.init).joined(separator: "–")
        return [
            target, environment, cadence, range, state, "\(accepted)", "\(removed)", "\(refused)", "\(given_up)",
            "\(toCome)",
        ]
    }
}
