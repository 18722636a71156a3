internal import Executables

/// An app that the service knows.
struct KnownApp: Decodable, Sendable {
    let bundle: String
    let environment: String

    private struct Apps: Decodable { let items: [KnownApp] }

    /// The app that is meant: the one that is named, or the only one there is.
    ///
    /// - Parameters:
    ///   - bundle: As typed; nil: the only one.
    ///   - environment: As typed; nil: production, if the app is there.
    ///   - api: With a key that may see apps.
    /// - Returns: The app in one environment.
    /// - Throws: ``Failure`` when there is none, or more than one.
    static func choose(bundle: String?, environment: String?, api: APIClient) async throws(Failure) -> KnownApp {
        let known: Apps = try await api.send("GET", "/v1/apps?limit=100").decode()
        let apps = known.items
            .filter { (bundle == nil || $0.bundle == bundle) && (environment == nil || $0.environment == environment) }
        let bundles = Set(apps.map(\.bundle)).sorted()
        guard let first = bundles.first else {
            throw Failure(
                .notFound,
                "there is no app\(bundle.map { " “\($0)”" } ?? "")\(environment.map { " in \($0)" } ?? "")",
                hint: "touchline app set BUNDLE ENVIRONMENT --team-id … --key-id … --p8 FILE"
            )
        }
        guard bundles.count == 1 else {
            throw Failure(.wrongUse, "which app? --bundle \(bundles.joined(separator: ", or --bundle "))")
        }
        let environments = apps.filter { $0.bundle == first }.map(\.environment)
        let chosen = environments.contains("production") ? "production" : environments[0]
        return KnownApp(bundle: first, environment: chosen)
    }
}
