import Core
import Testing

@Suite("Rows whose pushes are under way")
struct RowsInFlightTests {
    private static func range(_ after: Int64, _ through: Int64) -> Sweep.Range {
        Sweep.Range(after: after, through: through)
    }

    /// Pages of the rows 10 to 19 and 40 to 49.
    private static let inFlight: RowsInFlight = {
        var rows = RowsInFlight()
        rows.begin(1, through: 19, of: range(9, .max))
        rows.begin(2, through: 49, of: range(39, .max))
        return rows
    }()

    @Test(
        "are read again only when their outcomes are known",
        arguments: [
            (range(0, 100), range(0, 9)), (range(0, 5), range(0, 5)), (range(9, 100), nil), (range(15, 100), nil),
            (range(18, 20), nil), (range(19, 100), range(19, 39)), (range(30, 35), range(30, 35)),
            (range(39, 100), nil), (range(49, 100), range(49, 100)),
        ]
    )
    func free(range: Sweep.Range, free: Sweep.Range?) {
        #expect(Self.inFlight.free(of: range) == free)
    }

    @Test("are free once their page has ended")
    func ends() {
        var rows = Self.inFlight
        rows.end(1)
        #expect(rows.free(of: Self.range(9, 100)) == Self.range(9, 39))
        rows.end(2)
        #expect(rows == RowsInFlight() && rows.free(of: Self.range(0, 100)) == Self.range(0, 100))
    }

    @Test("of a page without rows are none")
    func empty() {
        var rows = RowsInFlight()
        rows.begin(1, through: nil, of: Self.range(0, .max))
        #expect(rows == RowsInFlight())
    }
}
