import Foundation
import Testing

/// Walks through every order in which things may happen, by the functions that the engine calls.
///
/// `TOUCHLINE_EXPLORE=long` explores longer stories as well; any other text is taken for stories to explore alone, as
/// `ar: registrations 2, lost 1; are: failures 1`.
@Suite("Every interleaving", .timeLimit(.minutes(30)))
struct ExplorerTests {
    private static let wanted = ProcessInfo.processInfo.environment["TOUCHLINE_EXPLORE"] ?? ""

    static var stories: [Story] {
        switch wanted {
        case "": Story.short
        case "long": Story.short + Story.long
        default: wanted.split(separator: ";").map { Story($0.drop { $0 == " " }) }
        }
    }

    @Test("of a match and its phones keeps every promise", arguments: stories)
    func phones(_ story: Story) {
        let setting = PhonesWorld.Setting(story.letters, PhonesWorld.Budget(story.budget))
        explored(PhonesWorld.self, setting, as: story.testDescription, floor: story.floor)
    }

    @Test(
        "of a channel and its repeats keeps every promise",
        arguments: [
            ("ar", false, 2_700), ("ra", true, 4_000), ("kxr", false, 15_000), ("axe", true, 10_000),
            ("aex", false, 15_000), ("aexx", true, 38_000),
        ] as [(String, Bool, Int)]
    )
    func channels(_ story: String, keepsNewest: Bool, floor: Int) {
        let setting = ChannelWorld.Setting(story, keepsNewest: keepsNewest, unknown: 1)
        explored(
            ChannelWorld.self,
            setting,
            as: "channel \(story), storage policy \(keepsNewest ? 1 : 0)",
            floor: floor
        )
    }

    @Test(
        "of two matches of an app, its outages and its pauses keeps every promise",
        arguments: [
            (MatchesWorld.Setting("k"), 500), (.init("kr"), 5_000), (.init("k", failures: 1, pauses: 1), 4_500),
            (.init("ke", outages: 0, pauses: 1), 900), (.init("kr", lost: 1), 19_000),
        ] as [(MatchesWorld.Setting, Int)]
    )
    func matches(_ setting: MatchesWorld.Setting, floor: Int) {
        explored(MatchesWorld.self, setting, as: "matches \(String(setting.story))", floor: floor)
    }

    private func explored<Explored: World>(
        _ world: Explored.Type,
        _ setting: Explored.Setting,
        as name: String,
        floor: Int
    ) {
        let report = Explorer<Explored>(setting: setting, limit: 30_000_000).explore()
        print("explored \(name): \(report.summary)")
        #expect(report.isFinished)
        #expect(report.fault == nil, "\(report.way.joined(separator: "; "))")
        #expect(report.states >= floor)
        #expect(report.rests > 0)
    }
}
