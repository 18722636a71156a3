import Core
import Testing

@Suite("A content state against its contract")
struct ContractTests {
    static let design = """
        {"home":"int","away":"int","clock":"string","kickoff":"date","scorer":"string?",
         "phase":{"enum":["first","break","second"]},"cards":[{"player":"string","minute":"int"}]}
        """

    private func json(_ text: String) throws(Problem) -> JSONValue { try JSONScanner.decode(Array(text.utf8)) }

    private func contract(_ text: String) throws(Problem) -> Contract {
        try Contract(json(text), path: "content_state")
    }

    private func check(_ state: String, _ text: String) throws(Problem) -> Contract.Verdict {
        try contract(text).check(json(state), path: "content_state")
    }

    @Test("what keeps it passes byte for byte")
    func passes() throws {
        let state = """
            {"phase":"break", "home":1,"away" : 0,"clock":"45'+2 🇪🇸","kickoff":8.05e8,"cards":[],"scorer":null}
            """
        let verdict = try check(state, Self.design)
        #expect(verdict.json == RawJSON(text: state) && verdict.warnings == [])
    }

    @Test(
        "what breaks it is refused with the path",
        arguments: [
            ("home", #""1""#), ("home", "1.5"), ("home", "null"), ("home", "true"), ("home", "99999999999999999999"),
            ("clock", "45"), ("clock", "[]"), ("phase", #""third""#), ("phase", "1"), ("cards", "{}"), ("scorer", "1"),
            ("kickoff", #""2026-07-19T19:00:00Z""#), ("kickoff", "1784487600"), ("kickoff", "1784487600000"),
        ]
    )
    func refuses(field: String, value: String) throws {
        var members = [
            "home": "1", "away": "0", "clock": "\"1'\"", "kickoff": "806180400", "phase": "\"first\"", "cards": "[]",
        ]
        members[field] = value
        let state = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        let problem = #expect(throws: Problem.self) { try check(state, Self.design) }
        #expect(problem?.code == .contractViolation)
        #expect(problem?.field == "content_state.\(field)")
    }

    @Test("a missing field is named, inside lists too")
    func missing() throws {
        let text = #"{"cards":[{"player":"string","minute":"int"}]}"#
        let problem = #expect(throws: Problem.self) {
            try check(#"{"cards":[{"player":"a","minute":1},{"player":"b"}]}"#, text)
        }
        #expect(problem?.field == "content_state.cards[1].minute")
        #expect(throws: Problem.self) { try check("{}", text) }
        #expect(throws: Never.self) { try check("{}", #"{"a":"int?","b":{"optional":["int"]}}"#) }
    }

    @Test("a date in UNIX time is refused with the year that the phone would show")
    func dates() throws {
        let text = #"{"kickoff":"date"}"#
        let seconds = #expect(throws: Problem.self) { try check(#"{"kickoff":1784487600}"#, text) }
        #expect(seconds?.detail.contains("2057") == true)
        let milliseconds = #expect(throws: Problem.self) { try check(#"{"kickoff":1784487600000}"#, text) }
        #expect(milliseconds?.detail.contains("milliseconds") == true)
        let string = #expect(throws: Problem.self) { try check(#"{"kickoff":"2026-07-19T19:00:00Z"}"#, text) }
        #expect(string?.hint?.contains("806180400") == true)
        for good in ["806180400", "0", "-1.5", "806180400.25"] {
            #expect(throws: Never.self) { try check("{\"kickoff\":\(good)}", text) }
        }
    }

    @Test(
        "a date in another unit, by table",
        arguments: [
            ("1199999999", nil), ("1200000000", "UNIX seconds: a phone would show the year 2039"),
            ("1784487600", "UNIX seconds: a phone would show the year 2057"),
            ("1784487600.5", "UNIX seconds: a phone would show the year 2057"),
            ("1.7844876e9", "UNIX seconds: a phone would show the year 2057"),
            ("4102444800", "UNIX seconds: a phone would show the year 2131"),
            ("1784487600000", "milliseconds: a phone would show the year 58549"),
            ("806180400000", "milliseconds: a phone would show the year 27547"),
            ("1784487600000000", "microseconds: a phone would show the year 56550161"),
            ("1784487600000000000", "nanoseconds: a phone would show the year 56548162926"),
            ("1e300", "nanoseconds: a phone would show the year of a date beyond all calendars"),
            ("-978307200", nil), ("-978307201.25", nil), ("806180400", nil), ("0", nil), ("8061804e2", nil),
        ] as [(String, String?)]
    )
    func dateUnits(digits: String, complaint: String?) throws {
        for (text, state) in [("date", "{\"at\":\(digits)}"), ("date?", "{\"at\":\(digits)}")] {
            let contract = "{\"at\":\"\(text)\"}"
            guard let complaint else {
                #expect(throws: Never.self) { try check(state, contract) }
                continue
            }
            let problem = #expect(throws: Problem.self) { try check(state, contract) }
            let detail = try #require(problem?.detail)
            #expect(detail.hasPrefix("content_state.at reads as \(complaint)"), "\(detail)")
            #expect(problem?.field == "content_state.at" && problem?.hint?.contains("978307200") == true)
        }
    }

    @Test("a date's text is converted where the contract says so, and nothing else changes")
    func converts() throws {
        let text = #"{"a":{"date":"convert"},"b":[{"at":{"date":"convert"}}],"n":"double"}"#
        let state = #"{"n":1.10, "b":[{"at":"2001-01-01T00:00:00.5Z"},{"at":7}], "a" : "2026-07-19T19:00:00Z" }"#
        #expect(
            try check(state, text).json.text == #"{"n":1.10, "b":[{"at":0.5},{"at":7}], "a" : 806180400 }"#
        )
        let problem = #expect(throws: Problem.self) { try check(#"{"a":"soon","b":[],"n":1}"#, text) }
        #expect(problem?.field == "content_state.a")
    }

    @Test("the other types")
    func others() throws {
        let text = #"{"d":"double","b":"bool","u":"url","i":"uuid","x":"data"}"#
        func state(_ field: String, _ value: String) -> String {
            var members = [
                "d": "1e3", "b": "true", "u": "\"https://a.b/c\"", "x": "\"Zm9v\"",
                "i": "\"0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFF\"",
            ]
            members[field] = value
            return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        }
        #expect(try check(state("d", "0"), text).warnings == [])
        for (field, value) in [
            ("d", "\"1\""), ("b", "1"), ("u", "\"\""), ("i", "\"x\""), ("x", "\"Zg\""),
        ] {
            let problem = #expect(throws: Problem.self) { try check(state(field, value), text) }
            #expect(problem?.field == "content_state.\(field)")
        }
        #expect(throws: Never.self) { try check(#"{"n":1.0}"#, #"{"n":"int"}"#) }
    }

    @Test("unknown keys are warnings")
    func warnings() throws {
        #expect(
            try check(#"{"a":1,"o":{"b":2,"c":3}}"#, #"{"a":"int","o":{"b":"int"}}"#).warnings == [
                "unknown_key:content_state.o.c"
            ]
        )
    }

    @Test(
        "a contract that means nothing is refused with the path",
        arguments: [
            (#"{"a":"integer"}"#, "content_state.a"), (#"{"a":1}"#, "content_state.a"),
            (#"{"a":[]}"#, "content_state.a"),
            (#"{"a":["int","int"]}"#, "content_state.a"), (#"{"a":{"b":"x"}}"#, "content_state.a.b"),
            ("[]", "content_state"),
            (#"{"a?":"int"}"#, "content_state.a?"), (#"{"é":"int","e\u0301":"int"}"#, "content_state.e\u{301}"),
            (#"{"a":{"enum":["x","x"]}}"#, "content_state.a.enum"),
            (#"{"a":{"enum":[]}}"#, "content_state.a.enum"), (#"{"a":{"enum":[1]}}"#, "content_state.a.enum"),
        ]
    )
    func badContracts(text: String, field: String) {
        let problem = #expect(throws: Problem.self) { try contract(text) }
        #expect(problem?.code == .invalidField)
        #expect(problem?.field == field)
    }

    @Test("only optional fields may be added while phones decode by the old one")
    func compatible() throws {
        let old = try contract(#"{"a":"int","o":{"b":"int"},"l":[{"c":"date"}]}"#)
        let rest = #""l":[{"c":"date"}]"#
        for (text, fault) in [
            (#"{"o":{"b":"int"},"a":"int",\#(rest)}"#, nil),
            (#"{"a":"int","o":{"b":"int","c":"string?"},"d":{"optional":["int"]},\#(rest)}"#, nil),
            (#"{"a":"int","o":{"b":"int"},"l":[{"c":{"date":"convert"},"d":"int?"}]}"#, nil),
            (#"{"a":"int",\#(rest)}"#, "content_state.o is gone"),
            (#"{"a":"double","o":{"b":"int"},\#(rest)}"#, "content_state.a has another type"),
            (#"{"a":"int?","o":{"b":"int"},\#(rest)}"#, "content_state.a is optional now"),
            (#"{"a":"int","o":{},\#(rest)}"#, "content_state.o.b is gone"),
            (#"{"a":"int","o":{"b":"int"},"d":"int",\#(rest)}"#, "content_state.d is new and not optional"),
            (#"{"a":"int","o":{"b":"int"},"l":[{"c":"date","d":"int"}]}"#, "content_state.l.d is new and not optional"),
        ] as [(String, String?)] {
            let found = try contract(text).fault(after: old, path: "content_state").map { "\($0.field) \($0.what)" }
            #expect(found == fault, "\(text)")
        }
    }
}
