import Core
import Testing

@Suite("The database's clock")
struct ClockRuleTests {
    private static let now = Moment(seconds: 10_000)

    @Test(
        "is mended when it was set back, and old claims end a while later",
        arguments: [
            (-60, nil, .none), (0, nil, .none), (2, nil, .none), (3, nil, .mend(by: .seconds(3))),
            (30, nil, .mend(by: .seconds(30))), (3_900, 10, .mend(by: .seconds(3_900))), (0, 10, .none),
            (-1, 0, .endClaims), (-1, -90, .endClaims),
        ] as [(Int64, Int64?, ClockRule.Duty)]
    )
    func duty(seen: Int64, claimsEnd: Int64?, expected: ClockRule.Duty) {
        let duty = ClockRule.duty(
            seenAt: Self.now + .seconds(seen),
            now: Self.now,
            claimsEndAt: claimsEnd.map { Self.now + .seconds($0) }
        )
        #expect(duty == expected)
    }
}
