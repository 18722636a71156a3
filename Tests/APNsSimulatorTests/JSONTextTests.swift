import Testing

@testable import APNsSimulator

@Suite("JSON with its text kept")
struct JSONTextTests {
    @Test("numbers keep their digits, values their range")
    func verbatim() throws {
        let text = #" {"a": 1.10, "b":[9007199254740993 , "é\n🇦🇷"]} "#
        let json = try JSONTextParser.parse(Array(text.utf8))
        if case .number(let digits)? = json["a"]?.kind { #expect(digits == "1.10") } else { Issue.record("no number") }
        #expect(json["b"]?.array?.last?.string == "é\n🇦🇷")
        let range = try #require(json["b"]?.range)
        #expect(String(decoding: Array(text.utf8)[range], as: UTF8.self) == #"[9007199254740993 , "é\n🇦🇷"]"#)
    }

    @Test(
        "what is no JSON is refused",
        arguments: [
            "", "{", "[1,]", "{\"a\":}", "01", "1.", "1e", "nul", "\"\\ud800\"", "\"\\x\"", "\"\u{1}\"", "{} {}",
            "{1:2}",
            "-", "\"abc",
        ]
    )
    func refused(text: String) {
        #expect(throws: JSONTextError.self) { try JSONTextParser.parse(Array(text.utf8)) }
    }

    @Test("deep nesting is refused, not a crash")
    func deep() {
        let text = String(repeating: "[", count: 100_000)
        #expect(throws: JSONTextError.self) { try JSONTextParser.parse(Array(text.utf8)) }
    }

    @Test("what is written is read again")
    func roundTrip() throws {
        var writer = JSONWriter()
        writer.object {
            $0.member("quote\"", "a\\b\u{1}\nc🇦🇷")
            $0.name("list")
            $0.array {
                $0.integer(1)
                $0.object { $0.member("x", true) }
                $0.object { _ in }
                $0.null()
            }
            $0.member("last", 5)
        }
        let json = try JSONTextParser.parse(writer.bytes)
        #expect(json["quote\""]?.string == "a\\b\u{1}\nc🇦🇷")
        #expect(json["list"]?.array?.count == 4)
        #expect(json["last"]?.integer == 5)
    }

    @Test("seeded UUIDs are canonical")
    func uuids() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<100 { #expect(CanonicalUUID.isUUID(generator.uuid(), lowerCaseOnly: true)) }
        let words = CanonicalUUID.words("EABEAE54-14a8-11e5-b60b-1697f925ec7b")
        #expect(words?.0 == 0xEABE_AE54_14A8_11E5)
        #expect(words?.1 == 0xB60B_1697_F925_EC7B)
    }
}
