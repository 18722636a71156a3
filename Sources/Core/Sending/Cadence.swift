/// How often a target's phones may be sent to: decided by the app's declaration and the phone's own setting.
package enum Cadence: String, CaseIterable, Hashable, Sendable {
    /// The one channel of a match, paced by the app's declaration.
    case any
    case frequent
    case standard

    /// A phone is frequent only if its app declares it **and** the phone allows it.
    package static func of(phoneAllowsFrequent: Bool, appDeclaresFrequent: Bool) -> Cadence {
        phoneAllowsFrequent && appDeclaresFrequent ? .frequent : .standard
    }
}

/// The kinds of target.
package enum TargetKind: String, CaseIterable, Hashable, Sendable {
    case channel
    case tokens
}
