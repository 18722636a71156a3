import Testing

@testable import APNsSimulator

@Suite("A phone's contract")
struct PhoneContractTests {
    static let contract = #"""
        {"n":"int","s":"string?","d":"date?","x":"double?","b":"bool?","u":"url?","i":"uuid?","blob":"data?",
         "phase":{"enum":["first","full"]},"cards":{"optional":[{"player":"string","minute":"int"}]},
         "when":{"optional":{"date":"convert"}}}
        """#

    private func decodes(_ state: String) throws -> Bool {
        let text = Array(Self.contract.utf8)
        let contract = try PhoneContract(JSONTextParser.parse(text), text: text)
        let json = try JSONTextParser.parse(Array(state.utf8))
        do throws(DecodingFault) {
            try contract.decode(json)
            return true
        } catch { return false }
    }

    @Test(
        "decodes as JSONDecoder would",
        arguments: [
            (#"{"n":1,"phase":"first"}"#, true), (#"{"n":1.0,"phase":"first"}"#, true),
            (#"{"n":1.5,"phase":"first"}"#, false), (#"{"n":"1","phase":"first"}"#, false),
            (#"{"n":9007199254740993,"phase":"first"}"#, true), (#"{"n":12345678901234567890,"phase":"first"}"#, false),
            (#"{"n":true,"phase":"first"}"#, false), (#"{"n":null,"phase":"first"}"#, false),
            (#"{"phase":"first"}"#, false), (#"{"n":1}"#, false), (#"{"n":1,"phase":"third"}"#, false),
            (#"{"n":1,"phase":"full","s":null,"unknown":[]}"#, true), (#"{"n":1,"phase":"full","s":5}"#, false),
            (#"{"n":1,"phase":"full","d":811694400.5}"#, true),
            (#"{"n":1,"phase":"full","d":"2026-07-19T20:46:03Z"}"#, false),
            (#"{"n":1,"phase":"full","x":1e999}"#, false), (#"{"n":1,"phase":"full","x":1.10}"#, true),
            (#"{"n":1,"phase":"full","b":0}"#, false), (#"{"n":1,"phase":"full","u":""}"#, false),
            (#"{"n":1,"phase":"full","i":"EABEAE54-14a8-11e5-b60b-1697f925ec7b"}"#, true),
            (#"{"n":1,"phase":"full","i":"EABEAE54"}"#, false), (#"{"n":1,"phase":"full","blob":"AAE="}"#, true),
            (#"{"n":1,"phase":"full","blob":"A!"}"#, false), (#"{"n":1,"phase":"full","when":1}"#, true),
            (#"{"n":1,"phase":"full","cards":[{"player":"x","minute":5}]}"#, true),
            (#"{"n":1,"phase":"full","cards":[{"player":"x"}]}"#, false),
            (#"{"n":1,"phase":"full","cards":{}}"#, false),
        ]
    )
    func decoding(state: String, expected: Bool) throws {
        #expect(try decodes(state) == expected)
    }

    @Test(
        "a contract that is none is refused with its path",
        arguments: [
            (#"[]"#, "content_state"), (#"{"a":"integer"}"#, "content_state.a"), (#"{"a":[]}"#, "content_state.a"),
            (#"{"a":["int","int"]}"#, "content_state.a"), (#"{"a":{"b":5}}"#, "content_state.a.b"),
            (#"{"a":{"enum":[]}}"#, "content_state.a"), (#"{"a":[{"b":"x"}]}"#, "content_state.a[].b"),
        ]
    )
    func refusal(contract: String, field: String) throws {
        let text = Array(contract.utf8)
        let json = try JSONTextParser.parse(text)
        #expect(throws: ControlError.self) { try PhoneContract(json, text: text) }
        do throws(ControlError) {
            _ = try PhoneContract(json, text: text)
        } catch { #expect(error.field == field) }
    }
}
