internal import Executables
import Glibc

/// The load tester: reads the command line, runs the test, and turns what became of it into an exit code.
@main
struct LoadTest {
    static func main() async {
        // A reader that went away is no reason to die by a signal, which would leave companions to the guardian.
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst()), environment: Environment.current()))
    }

    /// - Returns: The exit code: 0 done, 1 a push was lost or the run failed, 2 wrong use.
    static func run(_ words: [String], environment: [String: String]) async -> Int32 {
        do throws(Failure) {
            let parser = CommandParser(program: .loadtest, commands: Command.all)
            switch try parser.parse(words, environment: environment) {
            case .help(let text): Terminal.print(text, terminator: "")
            case .run(let invocation): try await invocation.command.run(invocation)
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
    static let loadtest = Program(
        name: "loadtest",
        introduction: """
            Measures Touchline on this machine: how fast, at what cost, and whether each
            push ended in exactly one outcome. Apple's place is taken by a simulator in a
            process of its own.
            """,
        closing: """
            `loadtest TEST --help` says more, with examples. Every test prints a table, and
            writes --json FILE for programs and --report FILE.html for people.
            Exit codes: 0 done, 1 a push was lost or the run failed, 2 wrong use.

            example: loadtest pool --report pool.html
            """
    )
}

extension Command {
    /// Every test, in the order of the help.
    static let all: [Command] = [.pool, .path, .ingest, .chaos, .season, .starts, .scenarios]
}
