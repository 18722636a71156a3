/// What a checker found. Every promise has a count of what was looked at and a list of what broke it.
struct ChaosVerdict: Sendable {
    /// A broken promise, by what the summary calls it.
    enum Kind: String, CaseIterable, Sendable {
        case lost, stale, reordered, doubled
        case sums
        case misdeed
    }

    struct Problem: Sendable {
        let kind: Kind
        let text: String
    }

    /// The first few of each kind.
    private(set) var problems: [Problem] = []
    private(set) var counts: [Kind: Int] = [:]

    var events = 0
    var accepted = 0
    var superseded = 0
    var ignored = 0
    /// Devices that followed, and starts that came.
    var followers = 0
    var started = 0
    /// By what the service says became of them.
    var starts: [String: Int] = [:]
    /// Phones on tokens and groups' members that were compared with their match's last state.
    var phones = 0
    /// Accepted pushes with the newest stamp once more, and those of them that a doubtful fault explains.
    var repeated = 0
    var repeatedExplained = 0
    /// Of neither: pushes to tokens that were registered once more, which asks for them.
    var asked = 0
    /// Of neither: an alert that came behind its state, since the push that was to bring both had failed.
    var alertsAfter = 0
    /// The same of pushes with an older stamp, which phones ignore: APNs made them wait, and newer ones overtook them.
    var older = 0
    var olderExplained = 0
    /// Alerts times the phones that should have had them, and what became of them.
    var alertsWanted = 0
    var alertsShown = 0
    var alertsReplaced = 0
    var alertsCancelled = 0
    var alertsExpired = 0
    var alertsDoubled = 0
    var alertsDoubledExplained = 0

    private static let most = 10

    mutating func add(_ kind: Kind, _ text: @autoclosure () -> String) {
        counts[kind, default: 0] += 1
        if counts[kind, default: 0] <= Self.most { problems.append(Problem(kind: kind, text: text())) }
    }

    func count(_ kind: Kind) -> Int { counts[kind] ?? 0 }

    var isGood: Bool { counts.isEmpty }
}
