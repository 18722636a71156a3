internal import Glibc

/// Why the service cannot run; a person has to change something.
package struct ServiceFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let message: String
    package let hint: String?

    package init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }

    package var description: String { message }

    /// With `errno` in words.
    static func system(_ what: String, _ path: String) -> ServiceFault {
        ServiceFault("\(what) \(path): \(String(cString: strerror(errno)))")
    }
}
