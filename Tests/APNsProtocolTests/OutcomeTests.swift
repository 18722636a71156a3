import APNsProtocol
import Testing

@Suite("What an answer of APNs means")
struct OutcomeTests {
    /// Contract sections 2 to 5, every status and reason of them.
    static let answers: [(Int, String, Outcome)] = [
        (400, "BadCollapseId", .refused(status: 400, reason: "BadCollapseId")),
        (400, "BadDeviceToken", .tokenRefused("BadDeviceToken")),
        (400, "BadExpirationDate", .refused(status: 400, reason: "BadExpirationDate")),
        (400, "BadMessageId", .refused(status: 400, reason: "BadMessageId")),
        (400, "BadPriority", .refused(status: 400, reason: "BadPriority")),
        (400, "BadTopic", .configuration("BadTopic")),
        (400, "DeviceTokenNotForTopic", .tokenRefused("DeviceTokenNotForTopic")),
        (400, "DuplicateHeaders", .refused(status: 400, reason: "DuplicateHeaders")),
        (400, "IdleTimeout", .later(after: .zero, reason: "IdleTimeout")),
        (400, "InvalidPushType", .refused(status: 400, reason: "InvalidPushType")),
        (400, "MissingDeviceToken", .refused(status: 400, reason: "MissingDeviceToken")),
        (400, "MissingTopic", .refused(status: 400, reason: "MissingTopic")),
        (400, "PayloadEmpty", .refused(status: 400, reason: "PayloadEmpty")),
        (400, "TopicDisallowed", .configuration("TopicDisallowed")),
        (403, "BadCertificate", .configuration("BadCertificate")),
        (403, "BadCertificateEnvironment", .configuration("BadCertificateEnvironment")),
        (403, "ExpiredProviderToken", .providerTokenExpired),
        (403, "Forbidden", .configuration("Forbidden")),
        (403, "InvalidProviderToken", .configuration("InvalidProviderToken")),
        (403, "MissingProviderToken", .configuration("MissingProviderToken")),
        (403, "UnrelatedKeyIdInToken", .configuration("UnrelatedKeyIdInToken")),
        (403, "BadEnvironmentKeyIdInToken", .configuration("BadEnvironmentKeyIdInToken")),
        (403, "BadEnvironmentKeyInToken", .configuration("BadEnvironmentKeyInToken")),
        (404, "BadPath", .refused(status: 404, reason: "BadPath")),
        (405, "MethodNotAllowed", .refused(status: 405, reason: "MethodNotAllowed")),
        (410, "ExpiredToken", .tokenDead(asOfMilliseconds: nil)),
        (410, "Unregistered", .tokenDead(asOfMilliseconds: nil)),
        (413, "PayloadTooLarge", .tooLarge),
        (429, "TooManyRequests", .later(after: nil, reason: "TooManyRequests")),
        (429, "TooManyProviderTokenUpdates", .tooManyProviderTokenUpdates),
        (500, "InternalServerError", .later(after: nil, reason: "InternalServerError")),
        (503, "ServiceUnavailable", .later(after: nil, reason: "ServiceUnavailable")),
        (503, "Service Unavailable", .later(after: nil, reason: "Service Unavailable")),
        (503, "Shutdown", .later(after: .zero, reason: "Shutdown")),
        (400, "FeatureNotEnabled", .broadcastNotEnabled("FeatureNotEnabled")),
        (400, "BroadcastFeatureNotEnabled", .broadcastNotEnabled("BroadcastFeatureNotEnabled")),
        (400, "MissingChannelId", .refused(status: 400, reason: "MissingChannelId")),
        (400, "BadChannelId", .channelGone("BadChannelId")),
        (400, "ChannelNotRegistered", .channelGone("ChannelNotRegistered")),
        (400, "BadRequestParams", .refused(status: 400, reason: "BadRequestParams")),
        (400, "BadRequestPayload", .refused(status: 400, reason: "BadRequestPayload")),
        (400, "MissingPushType", .refused(status: 400, reason: "MissingPushType")),
        (400, "CannotCreateChannelConfig", .refused(status: 400, reason: "CannotCreateChannelConfig")),
        (403, "TopicMismatch", .configuration("TopicMismatch")),
    ]

    @Test("every documented reason has its class", arguments: answers)
    func classifies(status: Int, reason: String, outcome: Outcome) {
        #expect(Outcome(status: status, body: Array(#"{"reason":"\#(reason)"}"#.utf8)) == outcome)
        #expect(APNsReason(rawValue: reason).kind != nil)
    }

    @Test("no reason of the table is left untested")
    func complete() {
        #expect(Set(APNsReason.kinds.keys) == Set(Self.answers.map(\.1)))
        #expect(Set(APNsReason.kinds.values) == Set(APNsReason.Kind.allCases))
    }

    @Test(
        "a new reason is kept, and its status decides",
        arguments: [
            (400, .refused(status: 400, reason: "NewReason")), (418, .refused(status: 418, reason: "NewReason")),
            (401, .refused(status: 401, reason: "NewReason")),
            (403, .configuration("NewReason")), (410, .tokenDead(asOfMilliseconds: 7)), (413, .tooLarge),
            (429, .later(after: nil, reason: "NewReason")), (502, .later(after: nil, reason: "NewReason")),
        ] as [(Int, Outcome)]
    )
    func keepsUnknown(status: Int, outcome: Outcome) {
        #expect(Outcome(status: status, body: Array(#"{"timestamp":7,"reason":"NewReason"}"#.utf8)) == outcome)
    }

    @Test("the reason is believed before the status")
    func reasonFirst() {
        #expect(
            Outcome(status: 500, body: Array(#"{"reason":"Unregistered"}"#.utf8)) == .tokenDead(asOfMilliseconds: nil)
        )
        #expect(
            Outcome(status: 403, body: Array(#"{"reason":"BadDeviceToken"}"#.utf8)) == .tokenRefused("BadDeviceToken")
        )
    }

    @Test(
        "a body that is empty or no JSON is an answer without a reason",
        arguments: ["", "<html>", "[]", "\u{0}", "{"]
    )
    func lenient(body: String) {
        #expect(Outcome(status: 503, body: Array(body.utf8)) == .later(after: nil, reason: ""))
        #expect(Outcome(status: 400, body: Array(body.utf8)) == .refused(status: 400, reason: ""))
    }

    @Test(
        "a status that APNs never sends is something else's: later, whatever it says of tokens",
        arguments: [201, 202, 204, 206, 300, 301, 302, 304, 307, 600, 999],
        ["", "<html>", #"{"reason":"BadDeviceToken"}"#, #"{"reason":"Unregistered","timestamp":1790000000123}"#]
    )
    func foreign(status: Int, body: String) {
        let reason = APNsReason(rawValue: "status \(status), which is not APNs'")
        #expect(Outcome(status: status, body: Array(body.utf8)) == .later(after: nil, reason: reason))
        #expect(Outcome.isForeign(status: status, reason: ""))
    }

    @Test(
        "so is one of 400 to 499 that is new, unless it has a reason of APNs' kind",
        arguments: [401, 402, 407, 418, 451]
    )
    func foreignRefusal(status: Int) {
        let reason = APNsReason(rawValue: "status \(status), which is not APNs'")
        #expect(Outcome(status: status, body: Array("<html>".utf8)) == .later(after: nil, reason: reason))
        let body = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
        #expect(Outcome(status: status, body: body) == .tokenRefused("BadDeviceToken"))
    }

    @Test(
        "an odd timestamp does not cost the reason",
        arguments: [
            ("\"soon\"", nil), ("null", nil), ("[]", nil), ("{}", nil), ("true", nil), ("-1", nil), ("1e300", nil),
            ("253402300800000", nil), ("1790000000123.4", 1_790_000_000_123), ("1.790000000123e12", 1_790_000_000_123),
            ("\"1790000000123\"", 1_790_000_000_123), ("1790000000", 1_790_000_000_000), ("7", 7), ("0", 0),
        ] as [(String, Int64?)]
    )
    func oddTimestamp(value: String, milliseconds: Int64?) {
        let body = Array(#"{"reason":"Unregistered","timestamp":\#(value)}"#.utf8)
        #expect(ErrorAnswer(body).reason == "Unregistered")
        #expect(Outcome(status: 410, body: body) == .tokenDead(asOfMilliseconds: milliseconds))
        // By its reason also where the status says nothing.
        #expect(Outcome(status: 400, body: body) == .tokenDead(asOfMilliseconds: milliseconds))
    }

    @Test(
        "a reason is read beside whatever else stands there, and stays printable",
        arguments: [
            (#"{"reason":"Unregistered","more":{"reason":"x"}}"#, "Unregistered"),
            ("\u{FEFF}" + #"{"reason":"Unregistered"}"#, "Unregistered"),
            (#" {"reason" : "Unregistered"} "#, "Unregistered"),
            (#"{"reason":7}"#, ""), (#"{"reason":null}"#, ""), (#"{"reason":["x"]}"#, ""), (#"{"timestamp":1}"#, ""),
            (#"{"reason":"a\u0000b\nc"}"#, "a?b?c"), (#"{"reason":"\u00e9"}"#, "é"),
            (#"{"reason":"Unregistered""#, ""), (#"{"reason":"Unregistered"}x"#, ""),
            (#"{"reason":"\#(String(repeating: "x", count: 4000))"}"#, String(repeating: "x", count: 200)),
        ]
    )
    func oddReason(body: String, reason: String) { #expect(ErrorAnswer(Array(body.utf8)).reason == reason) }

    @Test("200 is accepted, with the id for Apple's log")
    func accepted() {
        #expect(Outcome(status: 200, body: []) == .accepted(uniqueID: nil))
        #expect(Outcome(status: 200, body: [], uniqueID: "u") == .accepted(uniqueID: "u"))
    }

    @Test("410 carries milliseconds")
    func timestamp() {
        let body = Array(#"{"reason":"Unregistered","timestamp":1790000000123}"#.utf8)
        #expect(Outcome(status: 410, body: body) == .tokenDead(asOfMilliseconds: 1_790_000_000_123))
    }

    @Test(
        "retry-after is honoured in seconds",
        arguments: [("7", .seconds(7)), ("0", .zero), ("999999999", .seconds(86_400)), ("soon", nil), ("-1", nil)]
            as [(String, Duration?)]
    )
    func retryAfter(value: String, after: Duration?) {
        let body = Array(#"{"reason":"TooManyRequests"}"#.utf8)
        #expect(
            Outcome(status: 429, body: body, retryAfter: value) == .later(after: after, reason: "TooManyRequests")
        )
    }
}

@Suite("Dates as HTTP writes them")
struct HTTPDateTests {
    @Test(
        "are read in each of their three forms",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Sun, 19 Jul 2026 20:46:03 GMT", 1_784_493_963),
            ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("", nil), ("120", nil),
            ("Sun, 06 Foo 1994 08:49:37 GMT", nil), ("Sun, +6 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, Int64?)]
    )
    func reads(text: String, seconds: Int64?) { #expect(HTTPDate.seconds(text) == seconds) }

    @Test(
        "say with retry-after how long to wait, a day at most",
        arguments: [
            ("120", 120), ("999999", 86_400), ("-5", nil), ("soon", nil), ("Sun, 06 Nov 1994 08:51:37 GMT", 120),
            ("Sun, 06 Nov 1994 08:49:00 GMT", 0), ("Sun, 06 Nov 1996 08:49:00 GMT", 86_400),
        ] as [(String, Int?)]
    )
    func tellsRetryAfter(text: String, seconds: Int?) {
        let outcome = Outcome(status: 503, body: [], retryAfter: text, now: 784_111_777)
        #expect(outcome == .later(after: seconds.map { .seconds($0) }, reason: ""))
    }
}
