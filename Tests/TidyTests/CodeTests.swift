import Testing

@Suite("The code")
struct CodeTests {
    @Test("does not force a try")
    func forcesNoTry() throws {
        let forced = "try" + "!"
        for file in try SourceTree.files() {
            for (number, text) in file.code {
                #expect(!text.contains(forced), "\(file):\(number)")
            }
        }
    }

    @Test("says on the line above why the compiler's checks are switched off")
    func explainsUnchecked() throws {
        let switches = ["@unchecked " + "Sendable", "nonisolated" + "(unsafe)"]
        for file in try SourceTree.files() {
            for (number, text) in file.code where switches.contains(where: text.contains) {
                // Attributes and conformances may stand on lines of their own.
                let above = file.lines[max(0, number - 3)..<(number - 1)]
                #expect(above.contains { $0.contains("//") }, "\(file):\(number) does not say why")
            }
        }
    }

    @Test("keeps files short enough to be read", arguments: [600])
    func keepsFilesShort(limit: Int) throws {
        for file in try SourceTree.files() {
            #expect(file.lines.count <= limit, "\(file) has \(file.lines.count) lines")
        }
    }
}
