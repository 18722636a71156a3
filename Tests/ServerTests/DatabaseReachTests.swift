import PostgreSQL
import Testing

@testable import Server

@Suite("Whether PostgreSQL can be reached")
struct DatabaseReachTests {
    private static let start = ContinuousClock.now
    private let away = PGError(.unavailable, "no route")
    private let full = PGError(.unavailable, "No space left on device", sqlState: "53100")
    private let readOnly = PGError(.unavailable, "read-only transaction", sqlState: "25006")
    private let ioError = PGError(.statement, "could not write", sqlState: "58030")
    private let ended = PGError(.unavailable, "terminating connection", sqlState: "57P01")

    private func remarks(_ events: [PoolEvent]) -> [DatabaseReach.Remark?] {
        var reach = DatabaseReach()
        return events.enumerated().map { reach.note($0.element, now: Self.start + .seconds($0.offset)) }
    }

    @Test("is said when it is lost and when it is back, once each, whichever pool notices")
    func lostAndBack() {
        #expect(
            remarks([.connected, .connectFailed(away), .connectFailed(away), .callFailed(away), .connected, .connected])
                == [nil, .lost("no route"), nil, nil, .back(after: .seconds(3)), nil]
        )
    }

    @Test("is said where it was never there")
    func neverThere() {
        #expect(remarks([.connectFailed(away), .connected]) == [.lost("no route"), .back(after: .seconds(1))])
    }

    @Test("says a lost connection where the next one comes about")
    func connectionLost() {
        let wanted = DatabaseReach.Remark.connectionLost("terminating connection (SQLSTATE 57P01)")
        #expect(remarks([.connected, .callFailed(ended), .connected]) == [nil, wanted, nil])
    }

    @Test("says writes that fail, by the server's code")
    func cannotWrite() {
        for error in [full, readOnly, ioError] {
            #expect(remarks([.connected, .callFailed(error)]) == [nil, .cannotWrite(error.description)])
        }
    }
}
