import Core
import Foundation
import Testing

/// What the contract says must be what the phone does, and that is what this decoder does.
@Suite("A contract beside Swift's own JSONDecoder")
struct ContractDifferentialTests {
    /// 20 seeds, each of 10 types with 50 states.
    @Test("decides alike on 10,000 states of 200 types, right and wrong ones", arguments: 1...20 as ClosedRange<UInt64>)
    func decidesAlike(seed: UInt64) throws {
        var generator = ShapeGenerator(seed: seed)
        var taken = 0
        var refused = 0
        for _ in 0..<10 {
            let shape = generator.object()
            let contract = try Contract(JSONScanner.decode(Array(shape.contract.utf8)), path: "content_state")
            for _ in 0..<50 {
                let state = generator.state(of: shape)
                let verdicts = Verdicts(state, shape, contract: contract)
                #expect(verdicts.areEqual, "seed \(seed), \(shape.contract), \(state): \(verdicts)")
                if verdicts.decoder == nil { taken += 1 } else { refused += 1 }
            }
        }
        #expect(
            taken + refused == 500 && taken > 150 && refused > 50,
            "\(taken) and \(refused): the states are one-sided"
        )
    }

    @Test("decides alike on every odd value, for every type that is not made of others")
    func oddValues() throws {
        let scalars: [Shape] = [
            .string, .int, .double, .bool, .date, .url, .uuid, .data, .choice(["first", "caf\u{E9}", ""]),
        ]
        let texts = (ShapeGenerator.urls + ShapeGenerator.uuids).map(Shape.quote)
        let values =
            ShapeGenerator.anything + ShapeGenerator.integers + ShapeGenerator.doubles + ShapeGenerator.base64 + texts
        for scalar in scalars.flatMap({ [$0, .optional($0), .list($0), .list(.optional($0))] }) {
            let shape = Shape.object([("v", scalar)])
            let contract = try Contract(JSONScanner.decode(Array(shape.contract.utf8)), path: "content_state")
            for value in values {
                for state in ["{\"v\":\(value)}", "{\"v\":[\(value)]}"] {
                    let verdicts = Verdicts(state, shape, contract: contract)
                    // Decodes, and is refused all the same.
                    if verdicts.contract?.detail.contains("a phone would show the year") == true { continue }
                    #expect(verdicts.areEqual, "\(shape.contract), \(state): \(verdicts)")
                }
            }
        }
    }
}
