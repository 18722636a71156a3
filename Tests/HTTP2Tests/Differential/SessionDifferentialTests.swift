import Foundation
import TestSupport
import Testing

@testable import HTTP2

@Suite("Our client session and nghttp2's, with the same server's bytes", .timeLimit(.minutes(10)))
struct SessionDifferentialTests {
    /// More by `TOUCHLINE_FUZZ_CASES=1000000 swift test --filter SessionDifferentialTests`; a seed is a case's number.
    private static let cases =
        ProcessInfo.processInfo.environment["TOUCHLINE_FUZZ_CASES"].flatMap { UInt64($0) } ?? 1000

    /// How often cases ended how.
    private struct Tally {
        var wellFormed = 0
        var brokenStreams = 0
        var brokenConnections = 0
        var differences: [DeliberateDifference: Int] = [:]
    }

    @Test("see the same events, broken streams and broken connections, but for what is named", arguments: 0..<4)
    func sameVerdict(part: UInt64) throws {
        var tally = Tally()
        for seed in stride(from: part, to: Self.cases, by: 4) { try compare(seed, &tally) }
        // The scripts are worth something only while they lead to every verdict.
        guard Self.cases >= 1000 else { return }
        let enough = Int(Self.cases) / 4 / 20
        #expect(
            tally.wellFormed > enough && tally.brokenStreams > enough && tally.brokenConnections > enough,
            "\(tally)"
        )
        #expect(tally.differences.values.reduce(0, +) < 4 * enough, "\(tally)")
    }

    /// Frame by frame, up to the first difference; what comes after that is another exchange for each.
    private func compare(_ seed: UInt64, _ tally: inout Tally) throws {
        let own = try OwnClient()
        let reference = ReferenceClient()
        var blocks = BlockReader()
        for frame in WireFrame.all(in: ServerScript(seed: seed).frames.flatMap { $0 }) {
            // Its streams have ended after a GOAWAY: nghttp2 reads no more, and our owner closes.
            if reference.isDone { break }
            let before = reference.view
            own.receive(frame.bytes)
            reference.receive(frame.bytes)
            guard frame.isWhole || frame.isTooLarge else { break }
            // nghttp2 judges the parts of a block, ours the whole.
            guard let block = blocks.take(frame) else { continue }
            guard own.view != reference.view else { continue }
            let step = DivergingStep(
                frame: frame,
                fields: block.fields,
                hadEnded: block.hadEnded,
                before: before,
                own: own.view,
                reference: reference.view
            )
            guard let difference = DeliberateDifference.allCases.first(where: { $0.explains(step) }) else {
                Issue.record("seed \(seed) \(step)")
                return
            }
            tally.differences[difference, default: 0] += 1
            return
        }
        if own.view.isOver {
            tally.brokenConnections += 1
        } else if own.view.streams.contains(where: { $0.end == .refused }) {
            tally.brokenStreams += 1
        } else {
            tally.wellFormed += 1
        }
    }

    @Test("reads the same however the server's bytes are cut", arguments: 0..<4)
    func sameWhenCut(part: UInt64) throws {
        for seed in stride(from: part, to: Self.cases, by: 4) {
            let bytes = ServerScript(seed: seed).frames.flatMap { $0 }
            var random = SeededRandom(seed: seed &+ 1_000_000_007)
            let whole = try OwnClient()
            whole.read(bytes[...])
            whole.look()
            let cut = try OwnClient()
            var rest = bytes[...]
            let most = [1, 3, 9, 40, 2000][Int.random(in: 0..<5, using: &random)]
            while !rest.isEmpty {
                let part = rest.prefix(Int.random(in: 1...most, using: &random))
                cut.read(part)
                rest = rest.dropFirst(part.count)
            }
            cut.look()
            guard cut.view == whole.view, cut.written == whole.written else {
                Issue.record("seed \(seed): \(whole.view) \(whole.written) is \(cut.view) \(cut.written) in pieces")
                return
            }
        }
    }
}

/// Reads the server's header blocks beside the sessions, so that a difference can be told by its fields.
private struct BlockReader {
    private let decoder = HeaderDecoder()
    private var block: [UInt8] = []
    private var endsStream = false
    private var ended: Set<Int32> = []

    /// - Returns: `nil` while a block goes on; else its fields, none if it is not well-formed, and whether the server had
    ///   ended the frame's stream before.
    mutating func take(_ frame: WireFrame) -> (fields: [HeaderDecoder.Field], hadEnded: Bool)? {
        if frame.type == 1 || frame.type == 9 { block += frame.fragment }
        if frame.type < 2 { endsStream = frame.flags & 1 == 1 }
        if frame.leavesBlockOpen { return nil }
        let fields = block.isEmpty ? [] : decoder.decode(block) ?? []
        block = []
        let hadEnded = ended.contains(frame.stream)
        if endsStream { ended.insert(frame.stream) }
        endsStream = false
        return (fields, hadEnded)
    }
}
