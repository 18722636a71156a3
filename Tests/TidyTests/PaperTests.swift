import Foundation
import Testing

@Suite("The papers")
struct PaperTests {
    @Test("API.md lists the API's calls, and no others")
    func listsCalls() throws {
        let source = try SourceTree.text(of: "Sources/Server/API/API+Routes.swift")
        let routes = Set(source.matches(of: /"((?:GET|PUT|POST|PATCH|DELETE) \/[^"]*)"/).map { String($0.output.1) })
        let page = try SourceTree.text(of: "API.md")
        let listed = page.split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^\| `([A-Z]+ \/[^`]*)`/).map { String($0.output.1) }
        }
        #expect(routes.count > 20)
        #expect(listed.count == Set(listed).count)
        #expect(routes.subtracting(listed) == [])
        #expect(Set(listed).subtracting(routes) == [])
    }
}
