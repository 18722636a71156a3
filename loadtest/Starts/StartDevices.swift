internal import Core
internal import Executables
import FoundationEssentials

/// The devices of one round and the match that most of them follow: the same for the same seed.
struct StartDevices: Sendable {
    let match: String
    /// All of them, in order.
    let tokens: [String]
    private let topics: [[String]]

    /// - Parameters:
    ///   - seed: Of the run.
    ///   - round: From 0; each has topics, devices and tokens of its own.
    ///   - count: Devices: 45 % follow one team, 45 % the other, 5 % both, and 5 % a third.
    init(seed: Int, round: Int, count: Int) {
        match = "match-\(round)"
        var dice = Dice(seed: seed, stream: "devices \(round)")
        tokens = (0..<count).map { _ in dice.token() }
        topics = (0..<count).map { number in
            let (home, away, other) = ("team:home-\(round)", "team:away-\(round)", "team:other-\(round)")
            return switch number * 20 / count {
            case 0: [home, away]
            case 1...9: [home, "competition:\(round)"]
            case 10...18: [away]
            default: [other]
            }
        }
    }

    private func name(_ number: Int) -> String { "\(match)-\(number)" }

    /// Those that follow the match.
    var wanted: [(name: String, token: String)] {
        tokens.indices.filter { !topics[$0][0].hasPrefix("team:other") }.map { (name($0), tokens[$0]) }
    }

    /// For `POST /v1/devices`, ten thousand at a time.
    var lines: [[UInt8]] {
        stride(from: 0, to: tokens.count, by: 10_000).map { start in
            var text = ""
            for number in start..<min(start + 10_000, tokens.count) {
                let topics = topics[number].map { "\"\($0)\"" }.joined(separator: ",")
                text += #"{"device":"\#(name(number))","bundle":"\#(FleetStage.bundle)","#
                text += #""environment":"\#(FleetStage.environment)","push_to_start_token":"\#(tokens[number])","#
                text += #""supports_channels":true,"frequent_pushes_enabled":true,"topics":[\#(topics)]}"# + "\n"
            }
            return Array(text.utf8)
        }
    }

    /// It kicks off soon enough to be started at once.
    var matchBody: JSONOutput {
        let round = match.dropFirst("match-".count)
        return [
            "bundle": .string(FleetStage.bundle), "type": "ScoreAttributes",
            "kickoff_at": .string(Date.now.addingTimeInterval(300).formatted(.iso8601)),
            "topics": [.string("team:home-\(round)"), .string("team:away-\(round)")],
            "content_state": ["home": 0, "away": 0, "clock": "–"], "attributes": ["name": .string(match)],
            "start": ["alert": ["title": "Kick-off", "body": "Soon"]],
        ]
    }
}

extension SimulatorControl {
    private struct PhonePage: Decodable {
        struct Phone: Decodable {
            let token: String?
            let pushes: Int
        }

        let phones: [Phone]
        let next: Int?
    }

    /// How many pushes came to each token; nothing but starts is sent to those of devices.
    func pushesByToken() async throws(Failure) -> [String: Int] {
        var counts: [String: Int] = [:]
        var after: Int? = 0
        while let start = after {
            let page: PhonePage = try await api.send("GET", "/_sim/phones?limit=5000&after=\(start)").decode()
            for phone in page.phones {
                if let token = phone.token { counts[token, default: 0] += phone.pushes }
            }
            after = page.next
        }
        return counts
    }

    func forgetPhones() async throws(Failure) { _ = try await api.send("DELETE", "/_sim/phones") }
}
