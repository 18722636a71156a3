@testable import Server
import Testing

@Suite("What a sweep has in flight")
struct SweepWindowTests {
    @Test(
        "is at most a twelfth of its shard, unless pages would become too small",
        arguments: [
            (0, 50, 1), (600, 50, 1), (1_000, 83, 1), (1_334, 111, 1), (5_000, 208, 2), (20_000, 208, 8),
            (48_000, 500, 8),
            (1_000_000, 500, 8),
        ]
    )
    func share(tokens: Int, pageSize: Int, pages: Int) {
        let window = SweepWindow(tokens: tokens, DispatchConfiguration(owner: "test"))
        #expect(window.pageSize == pageSize)
        #expect(window.pages == pages)
        #expect(window.pageSize * window.pages <= max(tokens / 12, 50))
    }

    @Test("is, with what a crash of the database takes back, at most a tenth", arguments: [600, 5_000, 48_000])
    func withVolatilePushes(tokens: Int) {
        let window = SweepWindow(tokens: tokens, DispatchConfiguration(owner: "test"))
        #expect((window.pageSize * window.pages + SweepWindow.volatilePushes(tokens)) * 10 <= tokens)
    }

    @Test("is one small page while an outage may not be over")
    func probing() {
        let window = SweepWindow.trying(DispatchConfiguration(owner: "test"))
        #expect(window.pageSize == 20)
        #expect(window.pages == 1)
    }
}
