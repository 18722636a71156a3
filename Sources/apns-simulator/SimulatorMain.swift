import APNsSimulator
import Glibc

/// `apns-simulator`: parses, starts, waits for SIGTERM or SIGINT.
@main
struct SimulatorMain {
    static func main() async {
        let options: SimulatorOptions
        do throws(SimulatorOptions.Misuse) {
            options = try SimulatorOptions(Array(CommandLine.arguments.dropFirst()))
        } catch {
            complain("apns-simulator: \(error.message)\nTry: apns-simulator --help\n")
            exit(2)
        }
        if options.wantsHelp {
            print(SimulatorOptions.help, terminator: "")
            return
        }
        do throws(SimulatorError) {
            try await run(options)
        } catch {
            complain("apns-simulator: \(error)\n")
            exit(1)
        }
    }

    private static func run(_ options: SimulatorOptions) async throws(SimulatorError) {
        let simulator = try await APNsSimulator.start(options.configuration)
        do throws(SimulatorError) {
            let signals = try simulator.terminationSignals()
            if let file = options.readyFile { try simulator.writeReadyFile(file) }
            print(String(decoding: simulator.readyJSON, as: UTF8.self))
            fflush(nil)
            for await _ in signals { break }
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
        if let file = options.readyFile { unlink(file) }
    }

    private static func complain(_ text: String) {
        text.withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
    }
}
