import Core
import Testing

@Suite("The canonical form of JSON")
struct CanonicalJSONTests {
    private func canonical(_ text: String) throws -> [UInt8] {
        try JSONScanner.decode(Array(text.utf8)).canonical
    }

    @Test(
        "is the same for equal values",
        arguments: [
            (#"{"a":1,"b":2}"#, "{ \"b\" : 2,\n\t\"a\":1 }"), ("1.10", "1.1"), ("1.0", "1"), ("1e2", "100"),
            ("100", "1E+2"), ("11e-1", "1.1"), ("-0", "0"), ("0.0", "0e99999999999999999999"), ("-0.50", "-5e-1"),
            ("0.00120", "12e-4"), (#""\u00e9""#, #""é""#), (#""\ud83c\uddea\ud83c\uddf8""#, #""🇪🇸""#),
            (#""\/""#, #""/""#),
            (#""\u000a\u0022\u005c""#, #""\n\"\\""#), (#"{"\u0061":[1.0, true ,null]}"#, #"{"a":[1,true,null]}"#),
            (#"{"x":{"b":1,"a":{"d":0,"c":0}}}"#, #"{"x":{"a":{"c":0,"d":0},"b":1}}"#),
        ]
    )
    func equal(one: String, other: String) throws {
        #expect(try canonical(one) == canonical(other))
    }

    @Test(
        "differs where values do",
        arguments: [
            ("1", "2"), ("1", "-1"), ("9007199254740993", "9007199254740992"), ("0.1", "0.10000000000000001"),
            ("1", #""1""#), ("1e-400", "0"), ("1e-99999999999999999999", "1e-99999999999999999998"), ("null", "{}"),
            (#"{"a":null}"#, "{}"), ("[1,2]", "[2,1]"), (#""é""#, #""e\u0301""#), (#""a""#, #""A""#), ("true", "1"),
            (#"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#), ("[]", "{}"), ("[[]]", "[]"), ("1e1", "1"), ("12", "1.2"),
        ]
    )
    func different(one: String, other: String) throws {
        #expect(try canonical(one) != canonical(other))
    }

    @Test("is JSON of the same value again")
    func stable() throws {
        let text = #"{"n":[0,-1.50,1e300,1e-7],"t":"\u0001\"é","o":{"":null,"a b":false}}"#
        let once = try canonical(text)
        #expect(try canonical(String(decoding: once, as: UTF8.self)) == once)
    }

    @Test("of an event leaves out its match, and members that are null")
    func event() throws {
        func bytes(_ text: String) throws -> [UInt8] { FeedEvent.canonical(try JSONScanner.decode(Array(text.utf8))) }
        let plain = try bytes(#"{"id":"1","content_state":{"a":null}}"#)
        #expect(try plain == bytes(#"{"match":"m","content_state":{"a":null},"alert":null,"id":"1"}"#))
        #expect(try plain != bytes(#"{"id":"1","content_state":{}}"#))
        #expect(try plain != bytes(#"{"id":"1","content_state":{"a":null},"sequence":1}"#))
    }
}
