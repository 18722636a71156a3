package import APNsSimulator

/// Runs a body against a simulator of its own, in this process, and stops it afterwards.
///
/// - Parameters:
///   - faults: Rules as the control API takes them: `{"rules":[…]}`.
///   - configure: Changes what differs from the defaults.
///   - body: Gets the simulator: ports, `caFile`, `p8File`, `counts`, `requests()`, `shown(on:)`.
/// - Returns: What the body returns.
/// - Throws: What the body throws, or why the simulator could not start.
package func withSimulator<Result: Sendable>(
    faults: String? = nil,
    configure: (inout SimulatorConfiguration) -> Void = { _ in },
    _ body: (APNsSimulator) async throws -> Result
) async throws -> Result {
    var configuration = SimulatorConfiguration()
    configuration.seed = 1
    configure(&configuration)
    let simulator = try await APNsSimulator.start(configuration)
    do {
        if let faults { try await simulator.setFaults(faults) }
        let result = try await body(simulator)
        await simulator.stop()
        return result
    } catch {
        await simulator.stop()
        throw error
    }
}

/// Device tokens for tests: 64 digits that tell their number.
package enum TestTokens {
    package static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 56 - digits.count) + digits + "feedc0de"
    }
}
