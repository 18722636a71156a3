import HTTP2
import TestSupport
import Testing

@testable import APNsSimulator

@Suite("What a lean listener remembers of pushes")
struct LeanSumsTests {
    @Test("ids are found again, derived and random ones, the other half of a block is not", arguments: [1 << 20, 64])
    func recentIDs(mostBlocks: Int) {
        var ids = RecentIDs(mostBlocks: mostBlocks)
        var generator = SeededGenerator(seed: 3)
        var repeated = (0..<10_000).count { ids.insert((7, 1 << 40 ^ UInt64($0))) }
        #expect(repeated == 0)
        let forgets = mostBlocks == 64
        #expect((ids.generationsForgotten > 0) == forgets)
        repeated = (9_000..<10_000).count { ids.insert((7, 1 << 40 ^ UInt64($0))) }
        #expect(repeated == 1000)
        let isOther = !ids.insert((8, 1 << 40))
        #expect(isOther)
        let random = (0..<50).map { _ in (generator.next(), generator.next()) }
        repeated = random.count { ids.insert($0) }
        #expect(repeated == 0)
        repeated = random.count { ids.insert($0) }
        #expect(repeated == 50)
    }

    @Test("a push that was overtaken by a later one to the same token is noticed")
    func orders() {
        var orders = TokenOrders()
        var overtaken = (0..<5000).count { orders.accept(UInt32($0), for: UInt64($0) << 32) }
        overtaken += (0..<5000).count { orders.accept(UInt32($0) + 9, for: UInt64($0) << 32) }
        #expect(overtaken == 0)
        let verdicts = [(8, 0), (9, 0), (5007, 4999)].map { orders.accept($0, for: UInt64($1) << 32) }
        #expect(verdicts == [true, false, true])
    }

    @Test("the fields are found in every coding: plain, Huffman, indexed by name, by name and value")
    func skimmer() throws {
        let text = "00112233-4455-6677-8899-aabbccddeeff"
        let words: (UInt64, UInt64) = (0x0011_2233_4455_6677, 0x8899_aabb_ccdd_eeff)
        func read(_ skimmer: inout FieldSkimmer, _ block: [UInt8]) -> FieldSkimmer.Found? {
            block.withUnsafeBytes { skimmer.read($0) }
        }
        var skimmer = FieldSkimmer()
        let plain = [0x40, 7] + Array("apns-id".utf8) + [36] + Array(text.utf8)
        let first = try #require(read(&skimmer, [0x82, 0x04, 1, 0x41] + plain))
        #expect(first.id?.0 == words.0 && first.id?.1 == words.1)
        #expect(first.path != 0)
        // The newest entry: name and value, then its name with another value, then after another entry.
        #expect(read(&skimmer, [0xBE])?.id?.1 == words.1)
        let upper = Array(text.uppercased().utf8)
        #expect(read(&skimmer, [0x0F, 47, 36] + upper)?.id?.1 == words.1)
        #expect(read(&skimmer, [0x40, 1, 0x61, 1, 0x62, 0xBF])?.id?.1 == words.1)
        // Names that are not there, numbers without an end, texts that are too long.
        for broken in [[0x80], [0xC5], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x04, 9, 1], [0x40]] as [[UInt8]] {
            #expect(read(&skimmer, broken) == nil, "\(broken)")
        }
    }

    @Test("doubles and overtaken pushes of a real client are counted")
    func realClient() async throws {
        let configure: (inout SimulatorConfiguration) -> Void = {
            ($0.isLean, $0.countsDoubles, $0.countsOrder) = (true, true, true)
        }
        try await SimulatorBench.with(configure: configure) { bench in
            let client = try await bench.connect()
            let id = "123e4567-e89b-42d3-a456-4266141740"
            // nghttp2 codes digits by Huffman, and keeps what it has sent in its table.
            for (token, last) in [(1, "00"), (1, "05"), (2, "01"), (1, "05"), (1, "03"), (2, "0a"), (2, "0A")] {
                let request = bench.device(TestTokens.token(token), ["apns-id": id + last])
                #expect(try await client.answer(request).status == 200)
            }
            let counts = await bench.simulator.counts
            #expect(counts.doubled == 2)
            #expect(counts.doubledIDs == 2)
            #expect(counts.reordered == 1)
            #expect(counts.arrived == 7)
        }
    }
}
