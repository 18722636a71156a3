import Foundation

/// The process's environment, read once at the start.
enum Environment {
    static func current() -> [String: String] { ProcessInfo.processInfo.environment }
}
