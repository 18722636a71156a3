import Testing

@testable import APNsSimulator

@Suite("The stream limit of a connection")
struct StreamLimitTests {
    private let bad = Rejection(400, "BadDeviceToken")

    @Test("is 1 until a valid token, 1 after a rejection until the next success")
    func follows() {
        var limit = StreamLimit(full: 1000, lowersOnRejection: true)
        #expect(limit.announced == 1)
        #expect(limit.answered(Rejection(403, "InvalidProviderToken"), isAuthenticated: false) == nil)
        #expect(limit.answered(nil, isAuthenticated: true) == 1000)
        #expect(limit.answered(nil, isAuthenticated: true) == nil)
        #expect(limit.answered(bad, isAuthenticated: true) == 1)
        #expect(limit.answered(bad, isAuthenticated: true) == nil)
        #expect(limit.answered(Rejection(503, "Shutdown"), isAuthenticated: true) == nil)
        #expect(limit.answered(nil, isAuthenticated: true) == 1000)
    }

    @Test("a dead token is not held against the sender")
    func deadToken() {
        var limit = StreamLimit(full: 1000, lowersOnRejection: true)
        #expect(limit.answered(Rejection(410, "Unregistered"), isAuthenticated: true) == 1000)
        #expect(limit.answered(Rejection(410, "ExpiredToken"), isAuthenticated: true) == nil)
    }

    @Test("without lowering, only the first valid token counts")
    func withoutLowering() {
        var limit = StreamLimit(full: 500, lowersOnRejection: false)
        #expect(limit.answered(bad, isAuthenticated: false) == nil)
        #expect(limit.answered(bad, isAuthenticated: true) == 500)
        #expect(limit.answered(bad, isAuthenticated: true) == nil)
    }

    @Test("a script's limit stands until it is taken away")
    func pinned() {
        var limit = StreamLimit(full: 1000, lowersOnRejection: true)
        _ = limit.answered(nil, isAuthenticated: true)
        #expect(limit.pin(3) == 3)
        #expect(limit.answered(bad, isAuthenticated: true) == nil)
        #expect(limit.answered(nil, isAuthenticated: true) == nil)
        #expect(limit.pin(nil) == 1000)
    }
}
