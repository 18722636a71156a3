import Executables
import Testing

@testable import touchline

@Suite("The examples of the help")
struct ExampleTests {
    /// Words as a shell would make them, quotes taken away; a leading `VARIABLE=value` is left out.
    private static func words(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for letter in line {
            switch (letter, quote) {
            case (let letter, let open?) where letter == open: quote = nil
            case (_, _?): word = (word ?? "") + String(letter)
            case ("'", nil), ("\"", nil):
                quote = letter
                word = word ?? ""
            case (" ", nil):
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + String(letter)
            }
        }
        if let word { words.append(word) }
        return Array(words.drop { $0.contains("=") && !$0.hasPrefix("-") })
    }

    @Test("call the command that they stand beside, with all that it needs", arguments: Command.all.map(\.name))
    func parse(name: String) throws {
        let command = try #require(Command.all.first { $0.name == name })
        // `source <(touchline completions bash)`
        let isSourced = command.example.hasPrefix("source <(")
        let line = isSourced ? String(command.example.dropFirst(9).dropLast()) : command.example
        let words = Self.words(line)
        #expect(words.first == "touchline")
        // What the shell puts in is not known here; ``ExampleRunTests`` runs it.
        guard !line.contains("$(") else { return }
        let parser = CommandParser(program: .touchline, commands: Command.all)
        guard case .run(let invocation) = try parser.parse(Array(words.dropFirst()), environment: [:]) else {
            Issue.record("\(command.example) asks for help")
            return
        }
        #expect(invocation.command.name == name)
        for option in command.options where option.isRequired { #expect(invocation.value(option.name) != nil) }
    }

    @Test(
        "and a misspelt verb or option, and a missing word, get an answer that says what to type",
        arguments: [
            ("match shwo", "show"), ("mtch show final", "match"), ("push updaet", "update"), ("doctr", "doctor"),
            ("explian BadPath", "explain"), ("match show final --jsno", "--json"), ("match show", "match show"),
            ("event send", "touchline event send"), ("push update --token", "--token HEX"),
        ]
    )
    func mistakes(line: String, answer: String) {
        let parser = CommandParser(program: .touchline, commands: Command.all)
        let failure = #expect(throws: Failure.self) {
            _ = try parser.parse(line.split(separator: " ").map(String.init), environment: [:])
        }
        #expect(failure?.kind == .wrongUse)
        let text = "\(failure?.message ?? "") \(failure?.hint ?? "")"
        #expect(text.contains(answer), "\(line): \(text)")
    }
}
