import APNsProtocol
import Foundation
import Testing

@Suite("The guide to APNs' reasons")
struct ReasonGuideTests {
    /// TROUBLES.md, line by line.
    private static func page() throws -> [Substring] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "TROUBLES.md"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test("knows every reason that is treated in some way, once, and no other")
    func isComplete() {
        #expect(ReasonGuide.all.map(\.reason) == APNsReason.kinds.keys.sorted())
        #expect(ReasonGuide.all.allSatisfy { !$0.cause.isEmpty && !$0.remedy.isEmpty && !$0.handling.isEmpty })
    }

    @Test("names the status that each comes with")
    func statuses() throws {
        for (status, reason, _) in OutcomeTests.answers where !reason.isEmpty {
            guard APNsReason(rawValue: reason).kind != nil else { continue }
            #expect(try #require(ReasonGuide(reason)).status == status, "\(reason)")
        }
    }

    @Test("says that it is sent again just where it is")
    func handling() {
        for guide in ReasonGuide.all {
            let isSentAgain: Bool
            switch APNsReason(rawValue: guide.reason).kind {
            case .later, .providerTokenExpired, .tooManyProviderTokenUpdates: isSentAgain = true
            default: isSentAgain = false
            }
            #expect(guide.handling.hasPrefix("Sent again") == isSentAgain, "\(guide.reason)")
        }
    }

    @Test(
        "is found in any case, and Service Unavailable with its space",
        arguments: [
            ("BadDeviceToken", "BadDeviceToken"), ("baddevicetoken", "BadDeviceToken"),
            ("Service Unavailable", "Service Unavailable"), ("SERVICEUNAVAILABLE", "Service Unavailable"),
        ]
    )
    func lookUp(typed: String, reason: String) {
        #expect(ReasonGuide(typed)?.reason == reason)
        #expect(ReasonGuide(typed + "s") == nil)
    }

    @Test("TROUBLES.md has a section for each trouble, and no other")
    func sections() throws {
        let headings = try Self.page().filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
        #expect(headings == Trouble.allCases.map(\.rawValue) + ["Reasons"])
        #expect(Set(Trouble.allCases.map(\.anchor)).count == Trouble.allCases.count)
        #expect(Trouble.dates.anchor == "dates-are-31-years-off")
        #expect(Trouble.unchanged.anchor == "accepted-but-nothing-changes-on-the-phone")
    }

    @Test("TROUBLES.md lists each reason with its section")
    func table() throws {
        let rows = try Self.page().filter { $0.hasPrefix("| `") }.map(String.init)
        let wanted = ReasonGuide.all.map { guide in
            "| `\(guide.reason)` | \(guide.status) | [\(guide.trouble.rawValue)](#\(guide.trouble.anchor)) |"
        }
        #expect(rows == wanted)
    }

    @Test("links within TROUBLES.md lead somewhere")
    func links() throws {
        let anchors = Set(Trouble.allCases.map(\.anchor))
        for line in try Self.page() {
            for link in line.matches(of: /\]\(#([^)]*)\)/) {
                #expect(anchors.contains(String(link.output.1)), "\(line)")
            }
        }
    }
}
