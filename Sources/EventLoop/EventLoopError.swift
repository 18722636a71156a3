internal import Glibc

/// What the operating system refused.
package enum EventLoopError: Error, Equatable, Sendable, CustomStringConvertible {
    case system(call: String, code: Int32)

    package var description: String {
        switch self {
        case .system(let call, let code): "\(call): \(String(cString: strerror(code)))"
        }
    }

    /// Passes on the result of a system call that returns -1 and sets `errno` when it fails.
    static func check(_ call: String, _ result: Int32) throws(EventLoopError) -> Int32 {
        guard result >= 0 else { throw .system(call: call, code: errno) }
        return result
    }
}
