internal import Core
internal import FoundationEssentials

/// A line of a match's deliveries on which something is behind, in a sentence for people.
struct BehindLine: Equatable, Sendable, Decodable {
    let target: String
    let environment: String
    let cadence: String
    var behind: Int? = nil
    var behind_since: String? = nil
    var last_answer: String? = nil

    /// `tokens production standard: 60 behind since 20:46:03 (40 s), last answer: none`; nil where nothing is behind.
    func sentence(now: Date) -> String? {
        guard let behind, behind > 0 else { return nil }
        return
            "\(target) \(environment) \(cadence): \(behind) behind\(since(now)), last answer: \(last_answer ?? "none")"
    }

    private func since(_ now: Date) -> String {
        guard let text = behind_since, let time = Timestamp(text) else { return "" }
        let seconds = Int(now.timeIntervalSince1970) - Int(time.microseconds / 1_000_000)
        // RFC 3339: the time of day follows the T. A day and more is said with its date.
        let clock = seconds < 86_400 ? text.dropFirst(11).prefix(8) : text.prefix(16)
        return " since \(clock) (\(Self.age(seconds)))"
    }

    /// `40 s`, `5 min`, `2 h 10 min`, `3 days`. This machine's clock may be behind the service's: never below zero.
    static func age(_ seconds: Int) -> String {
        let seconds = max(0, seconds)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: "\(seconds / 86_400) days"
        }
    }
}
