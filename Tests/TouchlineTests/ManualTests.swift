import Executables
import Foundation
import Testing

@testable import touchline

@Suite("The man page")
struct ManualTests {
    private static let page = ManPage(program: .touchline, commands: Command.all).text(version: Program.version)

    @Test("has every command with its options and its example", arguments: Command.all.map(\.name))
    func isComplete(name: String) throws {
        let command = try #require(Command.all.first { $0.name == name })
        func escaped(_ text: String) -> String { text.replacing("\\", with: "\\e").replacing("-", with: "\\-") }
        let start = try #require(Self.page.range(of: "\n.SS touchline \(escaped(name))"))
        let rest = Self.page[start.upperBound...]
        let section = rest[..<(rest.range(of: "\n.SS ")?.lowerBound ?? rest.endIndex)]
        for option in command.options { #expect(section.contains(".B \(escaped(option.name))"), "\(option.name)") }
        for line in [command.example] + command.examples.map(\.line) { #expect(section.contains(escaped(line))) }
    }

    @Test("names the newest section of CHANGELOG.md as the version")
    func version() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let log = try String(contentsOf: root.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let newest = try #require(log.split(separator: "\n").first { $0.hasPrefix("## ") })
        #expect(newest.lowercased().contains(Program.version))
        #expect(Self.page.contains("touchline \(Program.version)"))
    }

    @Test("begins no line with a dot that is no macro")
    func macros() {
        let known: Set<Substring> = [".TH", ".SH", ".SS", ".B", ".I", ".TP", ".PP", ".nf", ".fi", ".RS", ".RE"]
        for line in Self.page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(known.contains(line.prefix { $0 != " " }), "\(line)")
        }
    }
}
