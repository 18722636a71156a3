internal import EventLoop
internal import Executables
import FoundationEssentials
import Glibc

/// nghttp2's load generator: the same headers, body, streams and connections as ours.
struct H2Load: Sendable {
    let executable: String
    let version: String

    /// - Throws: ``Failure`` that names the package, where it is not installed.
    static func find() async throws(Failure) -> H2Load {
        guard let executable = ChildProcess.find("h2load") else {
            throw Failure(
                .failed,
                "h2load is not installed",
                hint: "It is in Debian's package nghttp2-client: apt-get install nghttp2-client"
            )
        }
        let (ending, output) = try await run(executable, ["--version"], within: .seconds(10))
        guard ending?.isSuccess == true else { throw Failure(.failed, "\(executable) --version failed: \(output)") }
        return H2Load(executable: executable, version: output.trimmed)
    }

    /// What one run said.
    struct Result: Sendable {
        var pushesPerSecond = 0.0
        var succeeded = 0
        var seconds = 0.0
    }

    /// Reads what it prints at the end: `finished in 2.00s, 9979.43 req/s, …`.
    static func parse(_ output: String) -> Result? {
        var result = Result()
        for line in output.split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "," })
            if line.hasPrefix("finished in "), words.count >= 4 {
                result.seconds = seconds(words[2])
                result.pushesPerSecond = Double(words[3]) ?? 0
            }
            if line.hasPrefix("status codes:"), words.count >= 3 { result.succeeded = Int(words[2]) ?? 0 }
        }
        return result.pushesPerSecond > 0 ? result : nil
    }

    private static func seconds(_ text: Substring) -> Double {
        for (unit, scale) in [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)] where text.hasSuffix(unit) {
            return (Double(text.dropLast(unit.count)) ?? 0) * scale
        }
        return 0
    }

    static func run(
        _ executable: String,
        _ arguments: [String],
        within limit: Duration
    ) async throws(Failure) -> (ending: ChildProcess.Ending?, output: String) {
        do throws(ChildProcessError) {
            return try await ChildProcess.run(ChildProcess.Options(executable, arguments), by: .now + limit)
        } catch {
            throw Failure(.failed, "\(executable): \(error)")
        }
    }
}

/// The response times that h2load writes down with `--log-file`.
enum H2LoadLog {
    /// Quantiles in microseconds; nil for a file that is none of h2load's.
    static func quantiles(_ shares: [Double], of file: String) -> [Int]? {
        guard let bytes = try? File.read(file) else { return nil }
        var times: [Int] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let last = line.split(separator: UInt8(ascii: "\t")).last,
                let time = Int(String(decoding: last, as: UTF8.self))
            else { return nil }
            times.append(time)
        }
        guard !times.isEmpty else { return nil }
        times.sort()
        return shares.map { times[min(times.count - 1, Int(Double(times.count) * $0))] }
    }
}
