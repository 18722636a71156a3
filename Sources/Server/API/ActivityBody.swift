internal import APNsProtocol
internal import Core
internal import Store

extension ActivityRegistration {
    static let names = ["token", "environment", "frequent_pushes_enabled", "device", "version"]

    /// Reads a registration; `activity` comes from the path, or from the line.
    init(_ body: ObjectReader, activity: ActivityID) throws(Problem) {
        self.init(
            activity: activity,
            token: try body.wrapped("token"),
            environment: try body.choice("environment"),
            allowsFrequentUpdates: try body.bool("frequent_pushes_enabled"),
            device: try body.optionalWrapped("device"),
            shownVersion: try body.optionalInteger("version", in: 0...Int64.max)
        )
    }

    static let noApp = Problem(
        .invalidField,
        "the match's app does not exist in this environment",
        field: "environment",
        hint: "Create it: PUT /v1/apps/{bundle}/{environment}."
    )
}
