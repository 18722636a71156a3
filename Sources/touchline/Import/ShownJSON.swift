internal import Core

/// Compares what a file says with what the service shows of it: the same values, in whatever blanks, escapes and order.
struct ShownJSON {
    /// Of a match's start: an alert's localised texts are shown in Apple's spelling, and how long it holds is not.
    var isStart = false

    /// Whether the service, told `wanted`, shows `found`. A time may have become the date that a contract converts it to.
    func shows(_ found: JSONValue, for wanted: JSONValue) -> Bool {
        switch (wanted.content, found.content) {
        case (.null, .null): return true
        case (.bool(let one), .bool(let other)): return one == other
        case (.number(let one), .number(let other)): return one == other
        case (.string(let one), .string(let other)): return one == other
        case (.string(let text), .number(let digits)):
            guard let time = Timestamp(text), let seconds = Double(digits) else { return false }
            return abs(Double(time.microseconds) / 1e6 - Self.referenceSeconds - seconds) < 1e-5
        case (.array(let all), .array(let others)):
            return all.count == others.count && zip(others, all).allSatisfy { shows($0, for: $1) }
        case (.object(let members), .object(let others)):
            let told = members.filter { !isStart || $0.name != "expires_after" }
            return told.count == others.count
                && told.allSatisfy { member in
                    found.member(shown(member.name)).map { shows($0, for: member.value) } ?? false
                }
        default: return false
        }
    }

    private func shown(_ name: String) -> String {
        isStart && name.hasPrefix("loc_") ? name.replacing("_", with: "-") : name
    }

    /// UNIX seconds of 2001-01-01T00:00:00Z, from which `JSONDecoder` counts.
    private static let referenceSeconds = 978_307_200.0
}
