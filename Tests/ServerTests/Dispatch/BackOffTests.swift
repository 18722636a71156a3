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

    private func report(_ outcomes: [Outcome]) throws -> PageReport {
        let token = try #require(DeviceToken(validating: "abcd"))
        let rows = outcomes.indices.map { number in
            TokenRow(
                number: Int64(number),
                activity: ActivityID(unchecked: "phone-\(number)"),
                token: token,
                registeredAt: Moment(seconds: 0)
            )
        }
        return PageReport(rows, outcomes, isDowngraded: false)
    }

    @Test("what is urgent is tried every few seconds however often it has failed, and no sooner than APNs asked for")
    func urgent() throws {
        let target = try target("final")
        let unknown = try report([.unknown("deadline")])
        let later = try report([.later(after: .seconds(60), reason: "ServiceUnavailable")])
        for attempt in 1...40 {
            #expect(unknown.backOff(of: target, attempt: attempt, isUrgent: true) <= .seconds(5), "\(attempt)")
            #expect(later.backOff(of: target, attempt: attempt, isUrgent: true) >= .seconds(60), "\(attempt)")
        }
        #expect(unknown.backOff(of: target, attempt: 40, isUrgent: false) >= .seconds(30))
    }

    @Test("targets that an outage stops together come back spread over a quarter of the time that APNs asked for")
    func spread() throws {
        let report = try report([.later(after: .seconds(80), reason: "ServiceUnavailable"), .unknown("deadline")])
        let waits = try (0..<200).map { number in
            report.backOff(of: try target("match-\(number)"), attempt: 1, isUrgent: true)
        }
        #expect(waits.allSatisfy { $0 >= .seconds(80) && $0 <= .seconds(100) })
        for quarter in 0..<4 {
            let (from, to) = (Duration.seconds(80 + 5 * quarter), Duration.seconds(85 + 5 * quarter))
            #expect(waits.count { $0 >= from && $0 < to } > 20)
        }
    }

    @Test("the same target and attempt wait equally long, the next attempt differently")
    func steady() throws {
        let report = try report([.later(after: .seconds(80), reason: "ServiceUnavailable")])
        let target = try target("final")
        let waits = (1...3).map { report.backOff(of: target, attempt: $0, isUrgent: false) }
        #expect(Set(waits).count == 3)
        #expect(report.backOff(of: target, attempt: 2, isUrgent: false) == waits[1])
    }
}
