internal import EventLoop
internal import Executables
internal import HTTP2

/// Adds up a counter of the services' metrics over processes that come and go: the last value seen of each.
final class MetricsWatch: Sendable {
    private let last = ThreadLock<[Int32: Int]>([:])

    /// Pushes that ended without its being known whether they had arrived, as far as it was seen before a process died.
    var doubts: Int { last.withLock { $0.values.reduce(0, +) } }

    func look(at fleet: Fleet) async {
        for member in await fleet.running {
            guard let connection = member.metrics else { continue }
            let request = HTTPRequest(
                method: "GET",
                scheme: connection.url.scheme,
                authority: connection.url.authority,
                target: "/metrics"
            )
            guard let response = try? await connection.send(request, by: .now + .seconds(1)), response.status == 200
            else { continue }
            let count = Self.sum("touchline_pushes_unknown_total", in: String(decoding: response.body, as: UTF8.self))
            last.withLock { $0[member.process.processID] = count }
        }
    }

    /// Of all labels.
    static func sum(_ name: String, in text: String) -> Int {
        text.split(separator: "\n").reduce(0) { sum, line in
            guard line.hasPrefix(name + "{") || line.hasPrefix(name + " ") else { return sum }
            return sum + (line.split(separator: " ").last.flatMap { Int($0) } ?? 0)
        }
    }
}
