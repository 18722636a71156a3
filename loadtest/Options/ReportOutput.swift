internal import Executables
import FoundationEssentials

/// Where a report goes, and what its verdict does to the exit code.
struct ReportOutput: Sendable {
    let jsonFile: String?
    let htmlFile: String?
    let isQuiet: Bool

    /// - Parameters:
    ///   - invocation: What was typed.
    ///   - hasPage: Whether the test has `--report`.
    /// - Throws: ``Failure`` when both are to be standard output.
    init(_ invocation: Invocation, hasPage: Bool = true) throws(Failure) {
        jsonFile = invocation.value("--json")
        htmlFile = hasPage ? invocation.value("--report") : nil
        isQuiet = invocation.isOn("--quiet")
        if htmlFile == "-", jsonFile == "-" { throw Failure(.wrongUse, "--json and --report cannot both be -") }
    }

    /// Writes the table and the files.
    ///
    /// - Throws: ``Failure`` when a file cannot be written, or when the report's sums are wrong: the exit code is then 1.
    func write(_ report: Report) throws(Failure) {
        Terminal.endProgress()
        let table = ReportTable(report: report).text
        if !isQuiet {
            // Standard output is the program's that reads the figures.
            if jsonFile == "-" || htmlFile == "-" {
                Terminal.complain(table)
            } else {
                Terminal.print(table, terminator: "")
            }
        }
        if let jsonFile { try Self.write(try report.json, to: jsonFile) }
        if let htmlFile { try Self.write(ReportPage(report: report).html, to: htmlFile) }
        guard report.complaints.isEmpty else {
            throw Failure(.failed, report.complaints.joined(separator: "; "))
        }
    }

    /// Runs a test in a workplace of its own, which goes however it ends, and writes its report.
    ///
    /// - Throws: What `run` and ``write(_:)`` throw.
    func write(
        of invocation: Invocation,
        _ run: (Workplace) async throws(Failure) -> Report
    ) async throws(Failure) {
        try write(
            try await Workplace.withInterrupts(
                in: invocation.environment["TMPDIR"],
                name: "touchline-loadtest",
                run
            )
        )
    }

    private static func write(_ text: String, to file: String) throws(Failure) {
        if file == "-" { return Terminal.print(text, terminator: "") }
        do {
            try Data(text.utf8).write(to: URL(filePath: file))
        } catch {
            throw Failure(.failed, "cannot write \(file)")
        }
    }
}
