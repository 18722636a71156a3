import EventLoop
import TestSupport

/// Runs the real curl.
struct Curl: Sendable {
    let exitCode: Int32
    let output: String

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func run(_ arguments: [String]) async throws -> Curl {
        guard let path = ChildProcess.find("curl") else {
            throw Failure(description: "curl is not installed; these tests need the Debian package of that name")
        }
        let options = ChildProcess.Options(path, ["--silent", "--show-error", "--max-time", "20"] + arguments)
        let (ending, output) = try await ChildProcess.run(options, by: .patient)
        guard case .exited(let code) = ending else {
            throw Failure(description: "curl ended as \(String(describing: ending)): \(output)")
        }
        return Curl(exitCode: code, output: output)
    }
}
