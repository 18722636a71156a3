import Executables
import Foundation
import Testing

@testable import touchline

@Suite("A file of events")
struct EventImportTests {
    @Test("is read line by line, each with its number")
    func lines() {
        let text = "\u{FEFF}{\"match\":\"a\"}\n\n  \r\n{\"match\":\"b\"}\r\n"
        let lines = EventLines.lines(Array(text.utf8))
        #expect(lines.map(\.number) == [1, 4])
        #expect(
            lines.map { String(decoding: $0.bytes, as: UTF8.self).trimmed } == [#"{"match":"a"}"#, #"{"match":"b"}"#]
        )
    }

    private func answers(_ lines: String, to numbers: [Int]) throws -> [EventLines.Answer] {
        try EventLines.answers(APIClient.Answer(status: 200, body: Array(lines.utf8)), to: numbers)
    }

    @Test("says what became of all, and which line was refused and why")
    func summary() throws {
        let lines = """
            {"match":"a","event":"1","status":"accepted","version":1}
            {"match":"a","event":"1","status":"accepted","version":1,"replayed":true}
            {"match":"a","event":"2","status":"superseded"}
            {"match":"b","event":"3","code":"contract_violation","detail":"home is missing","field":"content_state.home"}

            """
        let answers = try answers(lines, to: [1, 2, 3, 5])
        #expect(
            EventLines.summary(answers) == "4 events: 1 accepted, 1 superseded, 1 known already, 1 refused"
        )
        #expect(answers[3].line == 5)
        #expect(answers[3].problem == "home is missing (field content_state.home) [contract_violation]")
        let failure = #expect(throws: Failure.self) { try EventLines.report(answers, isQuiet: true) }
        #expect(failure?.kind == .failed)
        try EventLines.report(Array(answers.prefix(3)), isQuiet: true)
        #expect(throws: Failure.self) { _ = try self.answers(lines, to: [1]) }
    }
}
