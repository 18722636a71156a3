import Core
import Foundation
import Testing

/// Types whose `init(from:)` the compiler writes, with the shapes that say the same.
private enum ByCompiler {
    enum Phase: String, Codable { case first, café, empty = "", half = "break" }

    struct Card: Codable {
        let player: String
        let minute: Int
        let red: Bool?
    }

    struct Score: Codable {
        let home: Int
        let away: Int?
        let clock: String
        let kickoff: Date
        let phase: Phase
        let scorer: String?
        let cards: [Card]
    }

    struct Everything: Codable {
        let café: Double
        let home: URL?
        let away: UUID
        let clock: Data?
        let scorer: [Int?]
        let phase: [Phase]?
        let kickoff: [[Date]]
        let card: Card?
    }

    struct Nothing: Codable {}

    struct Optionals: Codable {
        let home: Int?
        let away: Double?
        let clock: Bool?
        let scorer: [URL]?
        let phase: Phase?
        let kickoff: Date?
    }

    static let phases = Shape.choice(["first", "caf\u{E9}", "", "break"])
    static let card = Shape.object([("player", .string), ("minute", .int), ("red", .optional(.bool))])

    static var all: [(any Decodable.Type, Shape)] {
        [
            (
                Score.self,
                .object([
                    ("home", .int), ("away", .optional(.int)), ("clock", .string), ("kickoff", .date),
                    ("phase", phases),
                    ("scorer", .optional(.string)), ("cards", .list(card)),
                ])
            ),
            (
                Everything.self,
                .object([
                    ("caf\u{E9}", .double), ("home", .optional(.url)), ("away", .uuid), ("clock", .optional(.data)),
                    ("scorer", .list(.optional(.int))), ("phase", .optional(.list(phases))),
                    ("kickoff", .list(.list(.date))),
                    ("card", .optional(card)),
                ])
            ),
            (Nothing.self, .object([])),
            (
                Optionals.self,
                .object([
                    ("home", .optional(.int)), ("away", .optional(.double)), ("clock", .optional(.bool)),
                    ("scorer", .optional(.list(.url))), ("phase", .optional(phases)), ("kickoff", .optional(.date)),
                ])
            ),
        ]
    }
}

@Suite("Types made at run time")
struct DecodedByCompilerTests {
    @Test("decode what the compiler's own decode, and nothing else", arguments: 0..<4)
    func mirrorsCompiler(index: Int) throws {
        let (type, shape) = ByCompiler.all[index]
        let contract = try Contract(JSONScanner.decode(Array(shape.contract.utf8)), path: "content_state")
        var generator = ShapeGenerator(seed: UInt64(index) + 1_000)
        for _ in 0..<1_000 {
            let state = generator.state(of: shape)
            let isTaken = (try? JSONDecoder().decode(type, from: Data(state.utf8))) != nil
            let verdicts = Verdicts(state, shape, contract: contract)
            #expect(isTaken == (verdicts.decoder == nil), "\(type), \(state)")
        }
    }
}
