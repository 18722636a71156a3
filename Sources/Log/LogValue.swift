/// What can stand in a field of a line.
package protocol LogValue {
    var logged: LoggedValue { get }
}

/// The fields of a line, in their order. One without a value is left out.
package typealias LogFields = KeyValuePairs<String, (any LogValue)?>

/// A value as it is written.
package enum LoggedValue: Equatable, Sendable {
    /// Quoted and escaped where it has to be.
    case text(String)
    /// A number, or true or false: written as it is.
    case bare(String)
}

extension String: LogValue {
    package var logged: LoggedValue { .text(self) }
}

extension Int: LogValue {
    package var logged: LoggedValue { .bare(String(self)) }
}

extension Int64: LogValue {
    package var logged: LoggedValue { .bare(String(self)) }
}

extension Bool: LogValue {
    package var logged: LoggedValue { .bare(String(self)) }
}

/// In seconds, with milliseconds where it has some: the field's name ends in `_s`.
extension Duration: LogValue {
    package var logged: LoggedValue {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        let rest = abs(milliseconds % 1_000)
        let sign = milliseconds < 0 ? "-" : ""
        let fraction = rest == 0 ? "" : ".\(String(1_000 + rest).dropFirst())"
        return .bare("\(sign)\(abs(milliseconds / 1_000))\(fraction)")
    }
}
