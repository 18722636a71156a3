import Core
import Testing

@Suite("JSON as feeds send it")
struct JSONScannerTests {
    private func read(_ text: String) throws(JSONFault) -> JSONValue { try JSONScanner.read(Array(text.utf8)) }

    @Test(
        "what is read is kept byte for byte",
        arguments: [
            "9007199254740993", "1.10", "12345678901234567890", "-0", "0.0", "1e5", "-1.5E-7", #""🇪🇸""#,
            #""\ud83c\uddea\u00e9""#, #"{"b":1,"a":2}"#, "{ \"a\" :\t[ 1 , 2 ]\r\n}", "[]", "{}", "null", "true",
            "false",
            #""\/ \" \\ \b\f\n\r\t""#, #"{"a":{"a":1}}"#, "{\"e\u{301}\":1,\"\u{e9}\":2}",
        ]
    )
    func keeps(text: String) throws {
        #expect(try read(text).rawJSON.text.utf8.elementsEqual(text.utf8))
        #expect(try read(" \n\(text)\t").rawJSON.text.utf8.elementsEqual(text.utf8))
    }

    @Test("strings are unescaped for whoever looks at them")
    func unescapes() throws {
        guard case .string(let text) = try read(#""a\u00e9\ud83c\uddf8\n\/""#).content else {
            Issue.record("no string")
            return
        }
        #expect(text == "aé🇸\n/")
    }

    @Test(
        "what breaks the grammar is malformed",
        arguments: [
            "", " ", "{", "[", "\"", "{\"a\"}", "{\"a\":}", "{a:1}", "[1,]", "{\"a\":1,}", "01", "1.", ".5", "+1", "1e",
            "-",
            "tru", "nul", "NaN", "1e999", "-1E400", "'a'", "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "1 2", "{} {}",
            "[1 2]", "\u{FEFF}{}",
            "00",
        ]
    )
    func malformed(text: String) {
        let fault = #expect(throws: JSONFault.self) { try read(text) }
        guard case .malformed = fault?.kind else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(fault?.problem.code == .malformedJSON)
    }

    @Test(
        "what phones cannot have is refused with its path",
        arguments: [
            (#"{"a":1,"a":2}"#, "a", .duplicateKey),
            (#"{"content_state":{"home":1,"home":1}}"#, "content_state.home", .duplicateKey),
            (#"{"c":[{"p":1},{"p":1,"\u0070":2}]}"#, "c[1].p", .duplicateKey),
            (#"{"s":{"x":"a\u0000"}}"#, "s.x", .invalidUnicode),
            ("{\"s\":\"a\u{0}\"}", "s", .invalidUnicode), (#"{"s":"\ud83c"}"#, "s", .invalidUnicode),
            (#"{"s":["\udfff"]}"#, "s[0]", .invalidUnicode), (#"{"s":"\ud83c\u0041"}"#, "s", .invalidUnicode),
        ] as [(String, String, Problem.Code)]
    )
    func refuses(text: String, path: String, code: Problem.Code) {
        let fault = #expect(throws: JSONFault.self) { try read(text) }
        #expect(fault?.path == path)
        #expect(fault?.problem.code == code)
        #expect(fault?.problem.field == path)
    }

    @Test(
        "invalid UTF-8 is refused where it stands",
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]]
    )
    func utf8(bytes: [UInt8]) {
        let text = Array(#"{"a":[""#.utf8) + bytes + Array(#""]}"#.utf8)
        #expect(throws: JSONFault(kind: .invalidUTF8, path: "a[0]")) { try JSONScanner.read(text) }
    }

    @Test("nesting has an end")
    func depth() throws {
        let deepest = JSONScanner.deepest
        #expect(throws: Never.self) {
            try read(String(repeating: "[", count: deepest) + "1" + String(repeating: "]", count: deepest))
        }
        let fault = #expect(throws: JSONFault.self) { try read(String(repeating: "[", count: 100_000)) }
        #expect(fault?.kind == .tooDeep)
    }

    @Test("an object with many keys is checked too")
    func manyKeys() {
        let members = (0..<2_000).map { "\"k\($0)\":\($0)" }
        #expect(throws: Never.self) { try read("{" + members.joined(separator: ",") + "}") }
        #expect(throws: JSONFault(kind: .duplicateKey("k7"), path: "k7")) {
            try read("{" + (members + ["\"k7\":0"]).joined(separator: ",") + "}")
        }
    }

    @Test("written JSON is read back alike")
    func writes() throws {
        let output: JSONOutput = [
            "a": "q\"\\\n\u{1}é🇸", "b": [1, true, nil], "c": .raw(RawJSON(text: "1.10")), "d": .double(0.5),
        ]
        let text = String(decoding: output.bytes, as: UTF8.self)
        #expect(text == #"{"a":"q\"\\\n\u0001é🇸","b":[1,true,null],"c":1.10,"d":0.5}"#)
        #expect(try read(text).member("a")?.kindName == "a string")
    }
}
