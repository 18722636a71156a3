import Core
import Testing

@Suite("An event as a feed posts it")
struct FeedEventTests {
    static let now = Timestamp(seconds: 1_784_493_963)  // 2026-07-19T20:46:03Z

    private func decode(_ text: String, namesMatch: Bool = false) throws(Problem) -> FeedEvent.Decoded {
        try FeedEvent.decode(JSONScanner.decode(Array(text.utf8)), now: Self.now, namesMatch: namesMatch)
    }

    @Test("the design's example")
    func example() throws {
        let event = try decode(
            """
            {"id":"fifa-104-21", "kind":"update", "occurred_at":"2026-07-19T20:46:03Z", "importance":"key",
             "content_state":{"home":1,"away":0,"clock":"106'","scorer":"Ferran Torres"},
             "alert":{"title":"Goal!","body":"Spain 1–0 Argentina","sound":"default"},
             "stale_after":300, "relevance_score":100}
            """
        ).event
        #expect(event.id.text == "fifa-104-21" && event.kind == .update && event.importance == .key)
        #expect(event.occurredAt == Self.now && event.staleAfter == 300 && event.relevanceScore == "100")
        #expect(event.contentState?.text == #"{"home":1,"away":0,"clock":"106'","scorer":"Ferran Torres"}"#)
        #expect(event.alert?.text == #"{"title":"Goal!","body":"Spain 1–0 Argentina","sound":"default"}"#)
    }

    @Test("digits, order, blanks and Unicode of the content state stay")
    func exactState() throws {
        let state = #"{ "z":9007199254740993, "a":1.10,"n":12345678901234567890 ,"f":"🇦🇷","e":"\u00e9" }"#
        #expect(try decode(#"{"id":"1","content_state":\#(state)}"#).event.contentState?.text == state)
    }

    @Test("what is left out has a meaning")
    func defaults() throws {
        let update = try decode(#"{"id":"1","content_state":{}}"#).event
        #expect(update.kind == .update && update.importance == .routine && update.sequence == nil)
        #expect(try decode(#"{"id":"1","kind":"correction","content_state":{}}"#).event.importance == .key)
        let end = try decode(#"{"id":"1","kind":"end","dismiss_after":60}"#).event
        #expect(end.importance == .key && end.contentState == nil && end.dismissAfter == 60)
        #expect(try decode(#"{"id":"1","kind":"heartbeat"}"#).event.importance == .routine)
        #expect(try decode(#"{"id":"1","content_state":{},"sequence":null,"alert":null}"#).event.alert == nil)
    }

    @Test("localised alerts come in Apple's spelling")
    func localised() throws {
        let event = try decode(
            #"""
            {"id":"1","importance":"key","content_state":{},
             "alert":{"title":{"loc_key":"GOAL","loc_args":["\u00e9","b"]},"body":"x","expires_after":30}}
            """#
        ).event
        #expect(event.alert?.text == #"{"title":{"loc-key":"GOAL","loc-args":["\u00e9","b"]},"body":"x"}"#)
        #expect(event.alertExpiresAfter == 30)
    }

    @Test(
        "what is wrong is refused with code and field",
        arguments: [
            (#"{"content_state":{}}"#, .invalidField, "id"), (#"{"id":"","content_state":{}}"#, .invalidField, "id"),
            (#"{"id":7,"content_state":{}}"#, .invalidField, "id"), (#"{"id":"1"}"#, .invalidField, "content_state"),
            (#"{"id":"1","content_state":[]}"#, .invalidField, "content_state"),
            (#"{"id":"1","content_state":{},"scorer":1}"#, .unknownField, "scorer"),
            (#"{"id":"1","content_state":{},"match":"m"}"#, .unknownField, "match"),
            (#"{"id":"1","content_state":{},"kind":"goal"}"#, .invalidField, "kind"),
            (#"{"id":"1","content_state":{},"importance":"high"}"#, .invalidField, "importance"),
            (#"{"id":"1","content_state":{},"sequence":1.5}"#, .invalidField, "sequence"),
            (#"{"id":"1","content_state":{},"sequence":"1"}"#, .invalidField, "sequence"),
            (#"{"id":"1","content_state":{},"sequence":99999999999999999999}"#, .invalidField, "sequence"),
            (#"{"id":"1","content_state":{},"sequence":9223372036854775807}"#, .invalidField, "sequence"),
            (#"{"id":"1","content_state":{},"sequence":4000000000000000001}"#, .invalidField, "sequence"),
            (#"{"id":"1","content_state":{},"sequence":-1}"#, .invalidField, "sequence"),
            (#"{"id":"1","kind":"end","sequence":9223372036854775807}"#, .invalidField, "sequence"),
            (#"{"id":"1","content_state":{},"occurred_at":"2026-07-19T21:46:03Z"}"#, .futureEvent, "occurred_at"),
            (#"{"id":"1","content_state":{},"occurred_at":"2026-07-19T20:47:04Z"}"#, .futureEvent, "occurred_at"),
            (#"{"id":"1","content_state":{},"occurred_at":1784493963}"#, .stampUnit, "occurred_at"),
            (#"{"id":"1","content_state":{},"occurred_at":"1784493963000"}"#, .stampUnit, "occurred_at"),
            (#"{"id":"1","content_state":{},"occurred_at":"yesterday"}"#, .invalidField, "occurred_at"),
            (#"{"id":"1","content_state":{},"stale_after":0}"#, .invalidField, "stale_after"),
            (#"{"id":"1","content_state":{},"stale_after":"300"}"#, .invalidField, "stale_after"),
            (#"{"id":"1","content_state":{},"dismiss_after":5}"#, .invalidField, "dismiss_after"),
            (#"{"id":"1","kind":"end","dismiss_after":14401}"#, .invalidField, "dismiss_after"),
            (#"{"id":"1","content_state":{},"relevance_score":"1"}"#, .invalidField, "relevance_score"),
            (#"{"id":"1","content_state":{},"relevance_score":1e999}"#, .malformedJSON, "relevance_score"),
            (#"{"id":"1","content_state":{},"aps_extra":{"timestamp":1}}"#, .invalidField, "aps_extra.timestamp"),
            (#"{"id":"1","content_state":{},"aps_extra":[]}"#, .invalidField, "aps_extra"),
            (#"{"id":"1","content_state":{},"alert":{"title":"a"}}"#, .invalidField, "alert"),
            (#"{"id":"1","content_state":{},"importance":"key","alert":{}}"#, .invalidField, "alert.title"),
            (#"{"id":"1","content_state":{},"importance":"key","alert":{"title":1}}"#, .invalidField, "alert.title"),
            (#"{"id":"1","content_state":{},"importance":"key","alert":{"titel":"a"}}"#, .unknownField, "alert.titel"),
            (
                #"{"id":"1","content_state":{},"importance":"key","alert":{"title":{"loc-key":"a"}}}"#, .unknownField,
                "alert.title.loc-key"
            ),
            (
                #"{"id":"1","content_state":{},"importance":"key","alert":{"title":{"loc_key":"a","loc_args":[1]}}}"#,
                .invalidField, "alert.title.loc_args[0]"
            ),
            (#"{"id":"1","kind":"heartbeat","content_state":{}}"#, .invalidField, "content_state"),
            (#"{"id":"1","kind":"heartbeat","importance":"key"}"#, .invalidField, "importance"),
            (#"{"id":"1","kind":"heartbeat","alert":{"title":"a"}}"#, .invalidField, "alert"),
            ("[]", .badRequest, nil), ("\"a\"", .badRequest, nil),
        ] as [(String, Problem.Code, String?)]
    )
    func refuses(text: String, code: Problem.Code, field: String?) {
        let problem = #expect(throws: Problem.self) { try decode(text) }
        #expect(problem?.code == code)
        #expect(problem?.field == field)
    }

    @Test("a minute ahead is allowed")
    func tolerance() throws {
        #expect(throws: Never.self) {
            try decode(#"{"id":"1","content_state":{},"occurred_at":"2026-07-19T20:47:03Z"}"#)
        }
    }

    @Test("lines name their match")
    func lines() throws {
        #expect(try decode(#"{"match":"a/ñ","id":"1","content_state":{}}"#, namesMatch: true).match?.text == "a/ñ")
        let problem = #expect(throws: Problem.self) { try decode(#"{"id":"1","content_state":{}}"#, namesMatch: true) }
        #expect(problem?.field == "match")
    }

    @Test("an alert has 1,024 bytes, its name included", arguments: [993, 994])
    func alertSize(letters: Int) throws {
        let text =
            #"{"id":"1","importance":"key","content_state":{},"alert":{"title":"\#(String(repeating: "a", count: letters))","body":"b"}}"#
        if letters == 993 {
            #expect(try decode(text).event.alert?.bytes.count == 1_024 - 8)
        } else {
            let problem = #expect(throws: Problem.self) { try decode(text) }
            #expect(problem?.code == .payloadTooLarge)
            #expect(problem?.excess == Problem.SizeExcess(size: 1_025, limit: 1_024, route: "alert"))
        }
    }
}
