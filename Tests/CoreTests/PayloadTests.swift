import APNsProtocol
import Core
import Testing

@Suite("The bytes of a push")
struct PayloadTests {
    private let state = RawJSON(text: #"{ "z":9007199254740993,"a":1.10,"f":"🇪🇸" }"#)

    @Test("everything stands as it came")
    func composes() {
        let bytes = PayloadComposer(
            event: .update,
            stamp: 1_790_000_000,
            contentState: state,
            alert: RawJSON(text: #"{"title":"Goal"}"#),
            staleDate: 1_790_000_300,
            relevanceScore: "1.50",
            extra: RawJSON(text: #"{ "x-new":1.0, "y":[] }"#)
        ).compose()
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"aps":{"timestamp":1790000000,"event":"update","stale-date":1790000300,"relevance-score":1.50,"#
                + #""content-state":{ "z":9007199254740993,"a":1.10,"f":"🇪🇸" },"alert":{"title":"Goal"}, "x-new":1.0, "y":[] }}"#
        )
        #expect(throws: Never.self) { try JSONScanner.read(bytes) }
    }

    @Test("ends and starts")
    func endsAndStarts() throws {
        let end = PayloadComposer(
            event: .end,
            stamp: 7,
            contentState: nil,
            dismissalDate: 9,
            extra: RawJSON(text: "{ }")
        )
        #expect(
            String(decoding: end.compose(), as: UTF8.self)
                == #"{"aps":{"timestamp":7,"event":"end","dismissal-date":9}}"#
        )
        let type = try #require(AttributesType(validating: "ScoreAttributes"))
        let channel = try #require(ChannelID(validating: "ab+/AA=="))
        var start = PayloadComposer(event: .start, stamp: 7, contentState: RawJSON(text: "{}"))
        start.start = PayloadComposer.Start(
            attributesType: type,
            attributes: RawJSON(text: #"{"a":1}"#),
            updates: .channel(channel)
        )
        #expect(
            String(decoding: start.compose(), as: UTF8.self)
                == #"{"aps":{"timestamp":7,"event":"start","attributes-type":"ScoreAttributes","attributes":{"a":1},"#
                + #""input-push-channel":"ab+/AA==","content-state":{}}}"#
        )
    }

    @Test(
        "one byte over a route's limit is refused with size, limit and route",
        arguments: [
            (.tokens, 4_096, "token"), (.broadcast, 5_120, "broadcast"),
            ([.tokens, .broadcast], 4_096, "token"),
        ] as [(PayloadSizes.Routes, Int, String)]
    )
    func routes(routes: PayloadSizes.Routes, limit: Int, route: String) throws {
        let overhead = PayloadSizes.worstBytes(contentState: padded(0), relevanceScore: nil, extra: nil)
        let sizes = PayloadSizes(routes: routes)
        let room = limit - overhead
        #expect(throws: Never.self) { try sizes.check(contentState: padded(room)) }
        let problem = #expect(throws: Problem.self) { try sizes.check(contentState: padded(room + 1)) }
        #expect(problem?.code == .payloadTooLarge && problem?.field == "content_state")
        #expect(problem?.excess == Problem.SizeExcess(size: limit + 1, limit: limit, route: route))
    }

    @Test("what is accepted fits with any alert, as update and as end")
    func alertFits() throws {
        let overhead = PayloadSizes.worstBytes(contentState: padded(0), relevanceScore: nil, extra: nil)
        let biggest = padded(4_096 - overhead)
        try PayloadSizes(routes: .tokens).check(contentState: biggest)
        let alert = RawJSON(text: #"{"title":"\#(String(repeating: "a", count: 1_004))"}"#)
        for event in [LiveActivityEvent.update, .end] {
            let composer = PayloadComposer(
                event: event,
                stamp: 1_790_000_000,
                contentState: biggest,
                alert: alert,
                staleDate: event == .end ? nil : 1_790_000_300,
                dismissalDate: event == .end ? 1_790_000_300 : nil
            )
            #expect(composer.compose().count <= 4_096)
        }
    }

    @Test("attributes count with the content state")
    func attributes() {
        let problem = #expect(throws: Problem.self) {
            try PayloadSizes(routes: .broadcast, attributesBytes: 4_090).check(contentState: RawJSON(text: #"{"a":1}"#))
        }
        #expect(problem?.excess == Problem.SizeExcess(size: 4_097, limit: 4_096, route: "activity_data"))
    }

    private func padded(_ letters: Int) -> RawJSON {
        RawJSON(text: #"{"t":"\#(String(repeating: "a", count: letters))"}"#)
    }
}
