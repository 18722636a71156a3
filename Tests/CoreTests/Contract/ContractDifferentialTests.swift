import Core
import Foundation
import Testing

/// What the contract says must be what the phone does, and that is what this decoder does.
@Suite("A contract beside Swift's own JSONDecoder")
struct ContractDifferentialTests {
    /// 20 seeds, each of 10 types with 50 states.
    @Test("decides alike on 10,000 states of 200 types, right and wrong ones")
    func decidesAlike() throws {
        var types: Set<String> = []
        var (taken, refused) = (0, 0)
        for seed in 1...20 as ClosedRange<UInt64> {
            var generator = ShapeGenerator(seed: seed)
            var (right, wrong) = (0, 0)
            for _ in 0..<10 {
                let shape = generator.object()
                types.insert("\(seed) \(types.count) \(shape.contract)")
                let contract = try Contract(JSONScanner.decode(Array(shape.contract.utf8)), path: "content_state")
                for _ in 0..<50 {
                    let state = generator.state(of: shape)
                    let verdicts = Verdicts(state, shape, contract: contract)
                    #expect(verdicts.areEqual, "seed \(seed), \(shape.contract), \(state): \(verdicts)")
                    if verdicts.decoder == nil { right += 1 } else { wrong += 1 }
                }
            }
            #expect(right > 150 && wrong > 50, "seed \(seed), \(right) and \(wrong): the states are one-sided")
            taken += right
            refused += wrong
        }
        #expect(types.count == 200 && taken + refused == 10_000)
        print("\(taken + refused) states of \(types.count) types: JSONDecoder takes \(taken) and refuses \(refused)")
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
