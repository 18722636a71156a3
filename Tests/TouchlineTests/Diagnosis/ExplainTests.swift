import APNsProtocol
import Executables
import Testing

@testable import touchline

@Suite("touchline explain")
struct ExplainTests {
    @Test("finds a reason, or all of a status")
    func finds() throws {
        #expect(try Explanation.find("unregistered").map(\.reason) == ["Unregistered"])
        #expect(try Explanation.find("410").map(\.reason) == ["ExpiredToken", "Unregistered"])
        #expect(try Explanation.find("503").count == 3)
    }

    @Test(
        "says what a misspelt reason was meant to be",
        arguments: [
            ("BadDeviceTokne", "BadDeviceToken"), ("unregisterd", "Unregistered"),
            ("TopicDisalowed", "TopicDisallowed"),
        ]
    )
    func suggests(typed: String, meant: String) {
        let failure = #expect(throws: Failure.self) { try Explanation.find(typed) }
        #expect(failure?.kind == .notFound && failure?.hint?.contains("touchline explain \(meant)") == true)
    }

    @Test("leads on where there is nothing near", arguments: ["xyzzy", "299"])
    func lists(typed: String) {
        let failure = #expect(throws: Failure.self) { try Explanation.find(typed) }
        #expect(failure?.hint?.contains("`touchline explain` lists") == true)
    }

    @Test("leads to the page for a 200, which is no reason")
    func accepted() {
        let failure = #expect(throws: Failure.self) { try Explanation.find("200") }
        #expect(failure?.hint?.contains(Trouble.unchanged.place) == true)
    }

    @Test("fits 80 columns", arguments: ReasonGuide.all.map(\.reason))
    func fits(reason: String) throws {
        let text = Explanation.text(try Explanation.find(reason)[0])
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        #expect(text.contains(reason) && text.contains("TROUBLES.md#"))
    }
}
