import Executables
import Glibc

/// The executable: reads the command line, runs the command, and turns what became of it into an exit code.
@main
struct Touchline {
    static func main() async {
        // A reader that went away (`touchline match list | head`) is no reason to die by a signal.
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst()), environment: Environment.current()))
    }

    /// - Returns: The exit code: 0 done, 1 failed, 2 wrong use, 3 not found, 4 not allowed.
    static func run(_ words: [String], environment: [String: String]) async -> Int32 {
        if words == ["--version"] {
            Terminal.print("touchline \(Program.version)")
            return 0
        }
        do throws(Failure) {
            switch try CommandParser(program: .touchline, commands: Command.all).parse(words, environment: environment)
            {
            case .help(let text):
                Terminal.print(text, terminator: "")
            case .run(let invocation):
                do throws(Failure) {
                    try await invocation.command.run(invocation)
                } catch {
                    throw await WrongID.explained(error, invocation)
                }
            }
            return 0
        } catch {
            Terminal.complain("error: \(error.message)")
            if let hint = error.hint { Terminal.complain("       \(hint)") }
            return error.kind.rawValue
        }
    }
}

extension Program {
    static let touchline = Program(
        name: "touchline",
        introduction: "Touchline brings live scores to Lock Screens, through Apple's push service.",
        closing: """
            `touchline COMMAND --help` says more, with an example. Those about tenants,
            matches and the like talk to the service at TOUCHLINE_URL with the key in
            TOUCHLINE_KEY.
            Exit codes: 0 done, 1 failed, 2 wrong use, 3 not found, 4 not allowed.

            example: touchline demo --once --speed max
            """
    )
}

extension Command {
    /// Every command, in the order of the help.
    static let all: [Command] =
        [.serve, .migrate, .demo, .doctor, .replay, .explain] + pushes + [.completions, .manual, .complete]
        + tenants + keys + [.keyBootstrap] + apps + types + matches + starts + events + activities + devices
        + channels + pauses
}
