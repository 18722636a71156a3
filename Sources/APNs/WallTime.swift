internal import FoundationEssentials

/// The clock that people set, and that provider tokens carry.
package enum WallTime {
    /// UNIX seconds.
    @Sendable package static func now() -> Int64 { Int64(Date().timeIntervalSince1970.rounded(.down)) }
}
