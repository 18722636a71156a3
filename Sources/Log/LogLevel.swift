/// How much a line matters. A log takes its own level and what is above it.
package enum LogLevel: String, CaseIterable, Comparable, Sendable {
    /// What helps to follow one case.
    case debug
    /// What an operator wants to find afterwards: a start, a recovery.
    case info
    /// Something goes worse than it should, and the service copes.
    case warning
    /// Something stands still, or was lost, until somebody acts.
    case error

    package static func < (one: LogLevel, other: LogLevel) -> Bool { one.rank < other.rank }

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }
}
