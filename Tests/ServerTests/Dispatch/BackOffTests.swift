import APNsProtocol
import Core
@testable import Server
@testable import Store
import Testing

@Suite("How long a target backs off")
struct BackOffTests {
    private func target(_ match: String) throws -> TargetKey {
        let tenant = try #require(TenantID(validating: "t_acme"))
        let key = MatchKey(tenant: tenant, match: MatchID(unchecked: match))
        return TargetKey(match: key, kind: .tokens, environment: .production, cadence: .frequent)
    }

    @Test("a while that grows and stays short, spread over a quarter by target, however often it has failed")
    func waits() throws {
        let target = try target("final")
        let waits = [1, 2, 3, 40].map { PageReport.backOff(of: target, attempt: $0) }
        for (wait, pause) in zip(waits, [2, 5, 15, 15]) {
            #expect(wait >= .seconds(pause) && wait <= .seconds(pause) * 1.25, "\(wait)")
        }
        #expect(PageReport.backOff(of: target, attempt: 2) == waits[1])
    }

    @Test("targets that an outage stops together come back spread")
    func spread() throws {
        let waits = try (0..<200).map { PageReport.backOff(of: try target("match-\($0)"), attempt: 3) }
        for quarter in 0..<4 {
            let from = Duration.milliseconds(15_000 + 937 * quarter)
            #expect(waits.count { $0 >= from && $0 < from + .milliseconds(938) } > 20)
        }
    }
}
