import Core
import Foundation
import Testing

@Suite("Our JSON reader beside Foundation's")
struct JSONDifferentialTests {
    private static let seeds = [
        #"{"a":[1,-0.5e+3,{"b":"x\u00e9\n"}],"c":null,"d":true}"#, #"[[],{},"",0,1e5]"#, #""🇪🇸 \ud83c\uddea""#,
        #"{"home":1,"away":0,"clock":"106'","x":[1.10,12345678901234567890]}"#, "-12.5e-3", "[true,false,null]",
    ]

    @Test("takes nothing that Foundation refuses: what goes to APNs is JSON", arguments: 0..<8 as Range<UInt64>)
    func neverLaxer(seed: UInt64) {
        var random = Mangler(state: seed)
        var taken = 0
        for _ in 0..<3_000 {
            let bytes = random.mangle(Array(Self.seeds[Int(random.next() % 6)].utf8))
            guard let value = try? JSONScanner.read(bytes) else { continue }
            taken += 1
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(
                throws: Never.self,
                "\(text)",
                performing: { try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) }
            )
            #expect(text.contains(value.rawJSON.text))
        }
        #expect(taken > 300)
    }
}

/// Random changes that a seed repeats.
private struct Mangler {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }

    mutating func mangle(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let letters = Array(#"{}[]",:\u0123456789eE+-.trufalsn "#.utf8) + [0, 0x0A, 0x1F, 0x7F, 0x80, 0xC3, 0xFF]
        for _ in 0...(next() % 2) where !bytes.isEmpty {
            let place = Int(next() % UInt64(bytes.count))
            switch next() % 3 {
            case 0: bytes[place] = letters[Int(next() % UInt64(letters.count))]
            case 1: bytes.insert(letters[Int(next() % UInt64(letters.count))], at: place)
            default: bytes.remove(at: place)
            }
        }
        return bytes
    }
}
