/// Writes the lines of one subsystem. A value: hand it on, or make one for another subsystem of it.
///
/// ```swift
/// log.warning("connection ended", ["host": host, "cause": cause.rawValue, "after_s": duration])
/// ```
///
/// A message is a constant that says what happened; what it happened to stands in fields: `tenant`, `match`, `app`,
/// `environment`, `request_id`, `reason`. No secret, token or content state is given to it.
package struct Logger: Sendable {
    private let output: LogOutput?
    private let subsystem: String

    /// One that writes nothing.
    package static let silent = Logger(nil, subsystem: "")

    package init(_ output: LogOutput?, subsystem: StaticString) {
        self.output = output
        self.subsystem = subsystem.description
    }

    /// The same log for another subsystem.
    package func of(_ subsystem: StaticString) -> Logger { Logger(output, subsystem: subsystem) }

    package func debug(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:], limit: Int = usualLimit) {
        write(.debug, message, limit, fields)
    }

    package func info(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:], limit: Int = usualLimit) {
        write(.info, message, limit, fields)
    }

    package func warning(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:], limit: Int = usualLimit)
    {
        write(.warning, message, limit, fields)
    }

    package func error(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:], limit: Int = usualLimit) {
        write(.error, message, limit, fields)
    }

    /// Lines with the same message in 10 s; further ones are counted, and the count is said.
    package static let usualLimit = 20

    private func write(_ level: LogLevel, _ message: StaticString, _ limit: Int, _ fields: () -> LogFields) {
        guard let output, output.takes(level) else { return }
        let kind = LogSampler.Kind(level: level, subsystem: subsystem, message: message.description)
        output.write(kind, limit: limit, fields: fields)
    }
}
