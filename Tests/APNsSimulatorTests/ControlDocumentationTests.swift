import Foundation
import Testing

@testable import APNsSimulator

@Suite("SIMULATOR.md")
struct ControlDocumentationTests {
    private func text() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "SIMULATOR.md"), encoding: .utf8)
    }

    @Test("names every call of the control API, and none that there is not")
    func calls() throws {
        let text = try text()
        var known: Set<String> = []
        for (path, methods) in ControlAPI.methods {
            for method in ["GET", "POST", "PUT", "DELETE"] where methods.contains(method) {
                known.insert("`\(method) \(path)`")
            }
        }
        let named = Set(text.matches(of: /`(GET|POST|PUT|DELETE) \/_sim\/[a-z]+`/).map { String($0.output.0) })
        #expect(named == known)
    }

    @Test("names every verb of a fault rule")
    func verbs() throws {
        let text = try text()
        for verb in FaultRules.verbs.keys { #expect(text.contains("\"\(verb)\":"), "\(verb)") }
    }
}
