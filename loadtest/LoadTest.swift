import Glibc

/// `loadtest`: measures the sender, and checks its own sums.
@main
struct LoadTest {
    static let help = """
        usage: loadtest pool [options]

        Measures Touchline's sender on this machine, against a simulator in another process.

          pool    the sender pool alone, closed loop: throughput, latencies, CPU a push, outcomes

        loadtest pool --help says more. Exit codes: 0 done, 1 a push was lost or doubled, or the run failed, 2 wrong use.

        """

    static func main() async {
        var arguments = CommandLine.arguments.dropFirst()
        switch arguments.popFirst() {
        case "pool": await runPool(Array(arguments))
        case "--help", "-h", "help": print(help, terminator: "")
        case nil: fail(help, code: 2)
        case .some(let word): fail("loadtest: no test called \(word)\n\(help)", code: 2)
        }
    }

    private static func runPool(_ arguments: [String]) async {
        let options: PoolOptions
        do throws(Misuse) {
            options = try PoolOptions(arguments)
        } catch {
            fail("loadtest pool: \(error.message)\nTry: loadtest pool --help\n", code: 2)
        }
        if options.wantsHelp {
            print(PoolOptions.help, terminator: "")
            return
        }
        do throws(RunFailure) {
            let report = try await PoolRun.run(options)
            print(report.table, terminator: "")
            if let file = options.jsonFile { try report.write(to: file) }
            if !report.isSound { fail("loadtest pool: \(report.complaint)\n", code: 1) }
        } catch {
            fail("loadtest pool: \(error.message)\n", code: 1)
        }
    }

    private static func fail(_ text: String, code: Int32) -> Never {
        text.withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
        exit(code)
    }
}

/// What is wrong with the flags.
struct Misuse: Error {
    let message: String
}

/// Why a run could not be carried out.
struct RunFailure: Error {
    let message: String
}
