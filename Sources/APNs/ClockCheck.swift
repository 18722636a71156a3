internal import APNsProtocol

/// Whether a provider token was refused because one of the clocks is wrong.
enum ClockCheck {
    /// APNs takes tokens of an hour at most, and ours are signed anew at 50 minutes.
    static let tolerance: Int64 = 300

    /// What to tell people when APNs refuses a provider token.
    ///
    /// - Parameters:
    ///   - date: APNs' `date`, if it sent one.
    ///   - now: This machine's clock, UNIX seconds.
    /// - Returns: A sentence; nil where the clocks agree, or nothing can be said.
    static func complaint(date: String?, now: Int64) -> String? {
        guard let date, let theirs = HTTPDate.seconds(date) else { return nil }
        let ahead = now - theirs
        guard abs(ahead) > tolerance else { return nil }
        return "this machine's clock is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") APNs' (\(date)): "
            + "provider tokens are refused until it is set"
    }

    /// For a token that is called expired and is too young for that by the clock that signed it.
    static let youngTokenRefused =
        "APNs calls a provider token expired that was signed within 20 minutes: check the clocks of this machine and of "
        + "PostgreSQL's; no other token is signed until then"
}
