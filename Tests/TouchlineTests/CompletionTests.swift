import Executables
import Testing

@testable import touchline

@Suite("Completion")
struct CompletionTests {
    private func after(_ line: String) -> [String] {
        Completion.candidates(after: line.split(separator: " ").map(String.init), among: Command.all)
    }

    @Test("offers commands and nouns, then verbs, then options")
    func offers() {
        #expect(after("").contains("serve"))
        #expect(after("").filter { $0 == "match" }.count == 1)
        #expect(
            Set(after("match")).isSuperset(of: ["create", "list", "show", "delete"])
                && after("match").contains("resume")
        )
        #expect(after("match show").contains("--json"))
        #expect(!after("match show --json").contains("--json"))
    }

    @Test(
        "offers nothing for a value, and nothing behind an unknown word",
        arguments: ["replay --speed", "xyzzy", "match x"]
    )
    func offersNothing(line: String) {
        #expect(after(line).isEmpty)
    }
}

@Suite("The help of the commands")
struct HelpTests {
    @Test("every command's help fits 80 columns", arguments: Command.all.map(\.name))
    func helpFits(name: String) throws {
        let decision = try CommandParser(program: .touchline, commands: Command.all).parse(
            name.split(separator: " ").map(String.init) + ["--help"],
            environment: [:]
        )
        guard case .help(let text) = decision else {
            Issue.record("no help")
            return
        }
        for line in text.split(separator: "\n") where !line.hasPrefix("usage:") {
            #expect(line.count <= 80, "\(line)")
        }
    }
}

@Suite("A table")
struct TableTests {
    @Test("cuts nothing for a program that reads it")
    func whole() {
        let name = String(repeating: "x", count: 200)
        var table = Table(["NAME"])
        table.add([name])
        #expect(table.text == "NAME\n\(name)")
    }

    @Test("fits 80 columns: the widest cells give way")
    func fits() {
        var table = Table(["NAME", "N"], rightAligned: [1], width: 80)
        table.add([String(repeating: "x", count: 200), "1"])
        table.add(["two\nlines", "22"])
        let lines = table.text.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(lines[1].hasSuffix("…   1"))
        #expect(lines[2].hasPrefix("two lines "))
    }
}
