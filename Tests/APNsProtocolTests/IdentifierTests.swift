import APNsProtocol
import Testing

@Suite("What goes into headers and paths")
struct IdentifierTests {
    @Test("bundle ids")
    func bundles() {
        #expect(
            BundleID(validating: "com.example.App-1")?.liveActivityTopic == "com.example.App-1.push-type.liveactivity"
        )
        #expect(BundleID(validating: String(repeating: "a", count: 155)) != nil)
        for bad in ["", String(repeating: "a", count: 156), "a/b", "a b", "a_b", "ä", "a\n", "a\u{0}"] {
            #expect(BundleID(validating: bad) == nil, "\(bad)")
        }
    }

    @Test("team and key ids")
    func teams() {
        #expect(TeamID(validating: "ABCDE12345") != nil && KeyID(validating: "0123456789") != nil)
        for bad in ["", "ABCDE1234", "ABCDE123456", "abcde12345", "ABCDE 2345"] {
            #expect(TeamID(validating: bad) == nil && KeyID(validating: bad) == nil, "\(bad)")
        }
    }

    @Test("device tokens of every length seen, in lower case")
    func tokens() {
        for length in [2, 64, 108, 160, 512] {
            #expect(DeviceToken(validating: String(repeating: "aB", count: length / 2))?.text.utf8.first == 0x61)
        }
        #expect(DeviceToken(validating: "ABcd")?.text == "abcd")
        for same in ["<ABCD 0123>", "abcd0123", "AB CD 01 23", "<abcd0123>", "[abcd 0123]", " abcd0123 "] {
            #expect(DeviceToken(validating: same)?.text == "abcd0123", "\(same)")
        }
        let longest = String(repeating: "ab", count: 256)
        #expect(DeviceToken(validating: "<\(longest)>")?.text == longest)
        for bad in [
            "", " ", "<>", "a", "abc", "gg", String(repeating: "ab", count: 257), "../aa", "<abcd", "abcd>", "<<abcd>>",
            "<abcd]", "ab\tcd", "ab\u{0}cd", "{length = 2, bytes = 0xabcd}", "０１", String(repeating: " ", count: 2_000),
        ] {
            #expect(DeviceToken(validating: bad) == nil, "\(bad)")
        }
    }

    @Test("channel ids of 16 and of other sizes")
    func channels() {
        for good in ["dHN0LXNyY2gtY2hubA==", "AAAAAAAAAAAAAAAAAAAAAA==", "a+/b", "abc="] {
            #expect(ChannelID(validating: good)?.text == good)
        }
        for bad in ["", "=", "ab===", "a=b", "a b", "a\r\nx: y", String(repeating: "a", count: 257)] {
            #expect(ChannelID(validating: bad) == nil, "\(bad)")
        }
    }

    @Test("attributes types are Swift identifiers")
    func types() {
        for good in ["ScoreAttributes", "_a1", "Männer"] { #expect(AttributesType(validating: good) != nil) }
        for bad in ["", "1a", "a.b", "a b", "a\"b", "a-b", String(repeating: "a", count: 129)] {
            #expect(AttributesType(validating: bad) == nil, "\(bad)")
        }
    }

    @Test("push ids are distinct under a seed, canonical and stable")
    func ids() {
        let seed = (0..<16).map { UInt8($0 * 16 + 15) }
        let texts = (0..<1_000).map { APNsID(seed: seed, index: $0).description }
        #expect(Set(texts).count == 1_000)
        #expect(texts[0] == "0f1f2f3f-4f5f-8f7f-8f9f-afbfcfdfefff")
        #expect(texts[1] == "0f1f2f3f-4f5f-8f7f-8f9f-afbfcfdfeffe")
        #expect(APNsID(texts[7].uppercased()) == APNsID(seed: seed, index: 7))
        #expect(APNsID(seed: seed, index: 0).bytes.count == 16)
        for bad in ["", "0f1f2f3f", texts[0] + "0", texts[0].replacing("-", with: "0")] {
            #expect(APNsID(bad) == nil, "\(bad)")
        }
    }
}
