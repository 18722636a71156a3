import Foundation

/// The process's environment, read once at the start.
package enum Environment {
    package static func current() -> [String: String] { ProcessInfo.processInfo.environment }
}
