internal import Executables
import FoundationEssentials

/// The figures of one run, as `--json` writes them: its names are the JSON's.
struct Report: Codable, Sendable {
    /// `pool`, `path`, `ingest`, `chaos`, `season`, `starts`.
    var test: String
    /// The line that repeats it.
    var command: String
    /// What the run was offered, and what became of it: each push ends in one outcome.
    var pushes = 0
    var accepted = 0
    var lost = 0
    var doubled = 0
    var reordered = 0
    /// Outcomes that came later than `settings.late_ms` after the push was due.
    var late = 0
    var outcomes: [String: Int] = [:]
    var seconds = 0.0
    var pushes_per_second = 0.0
    var cpu_us_per_push = 0.0
    /// Of a core: 1 is one core all the time.
    var busy = 0.0
    var peak_rss_bytes = 0
    var latency_us = LatencyFigures()
    var sink = SinkFigures()
    var connections = 0
    var resent = 0
    /// Latencies and counts of a part of what was sent: channels, single `PUT`s.
    var parts: [Part] = []
    var settings: [String: Setting] = [:]
    /// Each line of the books: what we counted, what the other side counted, and whether they agree.
    var sums: [SumLine] = []
    /// What is wrong; a run without any has exit code 0.
    var complaints: [String] = []
    /// What the pool said of its connections, each sentence once, the last one last.
    var said: [String]?
    var baseline: BaselineFigures?
    var memory: MemoryFigures?
    var machine = Machine()
    var samples: [RunMeter.Sample] = []
    var descriptors: Descriptors?
    var chaos: ChaosFigures?
    var season: SeasonFigures?
    var starts: StartsFigures?

    /// Open descriptors of this process before the pool was made and after it was drained.
    struct Descriptors: Codable, Sendable {
        var before: Int
        var after: Int
    }

    struct Part: Codable, Sendable {
        var name: String
        var count: Int
        var per_second: Double?
        var errors: Int?
        var latency_us: LatencyFigures
    }

    /// The process at the other end.
    struct SinkFigures: Codable, Sendable {
        var cpu_us_per_push: Double?
        /// Of a core.
        var busy: Double?
        /// It was the busier process and had hardly anything left: the figure is its, not ours.
        var is_bound = false
        var requests: Int?
        var answers: [String: Int]?
    }

    struct SumLine: Codable, Sendable {
        var what: String
        var ours: Int
        var theirs: Int?
        var isRight: Bool
        var note: String?
    }

    init(test: String, command: String) {
        self.test = test
        self.command = command
    }

    /// Pretty, its keys sorted, with a line end.
    var json: String {
        get throws(Failure) {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            do {
                return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
            } catch {
                throw Failure(.failed, "the figures cannot be written: \(error)")
            }
        }
    }

    /// A report as ``json`` wrote it.
    init(json: [UInt8]) throws(Failure) {
        do {
            self = try JSONDecoder().decode(Report.self, from: Data(json))
        } catch {
            throw Failure(.failed, "this is no report of loadtest: \(error)")
        }
    }
}

/// The value of a setting: a number or a text.
enum Setting: Codable, Equatable, Sendable {
    case number(Double)
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let number):
            if let whole = Int(exactly: number) { try container.encode(whole) } else { try container.encode(number) }
        case .text(let text): try container.encode(text)
        }
    }

    static func number(_ value: Int) -> Setting { .number(Double(value)) }
}
