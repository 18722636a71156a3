internal import Executables

extension Command {
    static let scenarios = Command(
        "scenarios",
        "list the scenarios, or print one to start from",
        arguments: [Argument("NAME", "a scenario, or a file to check", isOptional: true)],
        details: """
            A scenario is a JSON file: settings under the names of a test's options, and rules for
            what the simulator does wrong. It is run by name or by file; what is typed beside it
            on the command line wins. loadtest/README.md describes the format.
            """,
        example: "loadtest scenarios mixed-faults",
        run: { invocation throws(Failure) in
            if let name = invocation.words.first {
                Terminal.print(String(decoding: try Scenario.find(name).text, as: UTF8.self), terminator: "")
                return
            }
            for name in Scenario.builtIn.keys.sorted() {
                let scenario = try Scenario.find(name)
                Terminal.print("loadtest \(scenario.test) --scenario \(name)\n    \(scenario.about)")
            }
        }
    )
}
