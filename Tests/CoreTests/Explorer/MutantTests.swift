import Testing

@Suite("A rule with one clause left out", .timeLimit(.minutes(30)))
struct MutantTests {
    @Test("breaks a promise", arguments: Mutant.ofModel + Mutant.additions)
    func phones(_ mutant: Mutant) {
        caught(PhonesWorld.self, mutant.setting, mutant.name, mutant.expected)
    }

    @Test("all of the model's 36 clauses are left out, one at a time")
    func clauses() {
        #expect(Set(Mutant.ofModel.map(\.name)).count == 36)
        #expect(Set((Mutant.ofModel + Mutant.additions).map(\.name)).count == 36 + Mutant.additions.count)
    }

    @Test(
        "breaks a promise of channels",
        arguments: [
            (.epoch, "ar", .versionOnce), (.alerted, "ar", .alertOnce), (.failed, "ar", .newest),
            (.needed, "ax", .repeatsReach), (.repeatEnd, "aex", .repeatsReach), (.pacing, "rr", .gapKept),
        ] as [(ChannelWorld.Break, String, Invariant)]
    )
    func channels(_ what: ChannelWorld.Break, story: String, expected: Invariant) {
        var setting = ChannelWorld.Setting(story, keepsNewest: false)
        setting.breaks = [what]
        caught(ChannelWorld.self, setting, "channel \(what)", [expected])
    }

    @Test(
        "breaks a promise of outages and pauses",
        arguments: [
            (.probe, .init("k"), .routeProbed), (.probeRest, .init("k"), .claimsEnd),
            (.forward, .init("k"), .sleepsInTime), (.postpone, .init("kr", failures: 1), .claimsEnd),
            (.resume, .init("k", outages: 0, pauses: 1), .sleepsInTime),
            (.pause, .init("k", outages: 0, pauses: 1), .pauseKept), (.ahead, .init("k"), .versionOnce),
        ] as [(MatchesWorld.Break, MatchesWorld.Setting, Invariant)]
    )
    func matches(_ what: MatchesWorld.Break, setting: MatchesWorld.Setting, expected: Invariant) {
        var setting = setting
        setting.breaks = [what]
        caught(MatchesWorld.self, setting, "matches \(what)", [expected])
    }

    private func caught<Explored: World>(
        _ world: Explored.Type,
        _ setting: Explored.Setting,
        _ name: String,
        _ expected: Set<Invariant>
    ) {
        let report = Explorer<Explored>(setting: setting, limit: 1_000_000).explore()
        print("mutant \(name): \(report.summary): \(report.fault?.invariant.rawValue ?? "not caught")")
        #expect(
            report.fault.map { expected.contains($0.invariant) } ?? false,
            "\(report.fault?.text ?? "not caught"): \(report.way.joined(separator: "; "))"
        )
    }
}
