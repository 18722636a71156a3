internal import Executables

extension Program {
    /// As `touchline --version` prints it: the newest section of CHANGELOG.md.
    static let version = "unreleased"
}

extension Command {
    static let manual = Command(
        "manual",
        "print the page for man",
        details: "To install it: touchline manual > /usr/local/share/man/man1/touchline.1",
        example: "touchline manual"
    ) { _ throws(Failure) in
        let page = ManPage(program: .touchline, commands: Command.all)
        Terminal.print(page.text(version: Program.version), terminator: "")
    }
}
