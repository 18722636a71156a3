import Foundation

/// Runs the real curl.
struct Curl: Sendable {
    let exitCode: Int32
    let output: String

    struct NotInstalled: Error, CustomStringConvertible {
        var description: String { "curl is not installed; these tests need the Debian package of that name" }
    }

    static func run(_ arguments: [String]) async throws -> Curl {
        let path = "/usr/bin/curl"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw NotInstalled() }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["--silent", "--show-error", "--max-time", "20"] + arguments
        let output = FileManager.default.temporaryDirectory.appending(path: "touchline-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: output) }
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.run() } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return Curl(exitCode: process.terminationStatus, output: try String(contentsOf: output, encoding: .utf8))
    }
}
