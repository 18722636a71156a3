internal import Executables

/// A file that says what a test does: settings under the names of the options, and faults.
///
/// `{"name","about","test","options":{"pushes":1000,…},"faults":{"rules":[…]}}`; what is typed on the command line wins.
struct Scenario: Sendable {
    /// The invocation with the settings of its `--scenario`, where it has one.
    static func applied(to invocation: Invocation) throws(Failure) -> Invocation {
        invocation
    }
}

/// Rules for the simulator, in its control API's form.
struct FaultPlan: Sendable {
    /// `{"rules":[…]}`.
    let json: [UInt8]

    init?(_ invocation: Invocation) throws(Failure) {
        guard let file = invocation.value("--faults") else { return nil }
        json = try File.read(file)
    }
}
