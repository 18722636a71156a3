import Crypto

/// All broadcast channels, by app and environment.
final class ChannelStore {
    /// As many as Apple allows an app in one environment.
    static let mostPerApp = 10_000

    private struct App: Hashable {
        let bundle: String
        let environment: SimulatedEnvironment
    }

    private var channels: [App: [String: Channel]] = [:]
    private var withoutCapability: Set<App> = []
    private var generator: SeededGenerator
    private var created = 0

    init(generator: SeededGenerator) { self.generator = generator }

    /// Whether the app has the broadcast capability; every app has it until it is switched off.
    func isEnabled(_ bundle: String, _ environment: SimulatedEnvironment) -> Bool {
        withoutCapability.isEmpty || !withoutCapability.contains(App(bundle: bundle, environment: environment))
    }

    /// Switching the capability off deletes the app's channels, as on Apple's site.
    func setEnabled(_ isEnabled: Bool, _ bundle: String, _ environment: SimulatedEnvironment) {
        let app = App(bundle: bundle, environment: environment)
        if isEnabled {
            withoutCapability.remove(app)
        } else {
            withoutCapability.insert(app)
            channels[app] = nil
        }
    }

    /// Nil when the app has as many channels as Apple allows.
    func create(_ bundle: String, _ environment: SimulatedEnvironment, storagePolicy: Int) -> Channel? {
        let app = App(bundle: bundle, environment: environment)
        guard channels[app, default: [:]].count < Self.mostPerApp else { return nil }
        let id = Base64.encode(generator.bytes(16))
        created += 1
        let channel = Channel(
            id: id,
            bundle: bundle,
            environment: environment,
            storagePolicy: storagePolicy,
            number: created
        )
        channels[app, default: [:]][id] = channel
        return channel
    }

    func find(_ id: String, _ bundle: String, _ environment: SimulatedEnvironment) -> Channel? {
        channels[App(bundle: bundle, environment: environment)]?[id]
    }

    /// A channel of any app of the environment.
    func find(_ id: String, in environment: SimulatedEnvironment) -> Channel? {
        for (app, list) in channels where app.environment == environment {
            if let channel = list[id] { return channel }
        }
        return nil
    }

    /// False if there was none.
    func delete(_ id: String, _ bundle: String, _ environment: SimulatedEnvironment) -> Bool {
        channels[App(bundle: bundle, environment: environment)]?.removeValue(forKey: id) != nil
    }

    /// The app's channels, the oldest first.
    func list(_ bundle: String, _ environment: SimulatedEnvironment) -> [Channel] {
        (channels[App(bundle: bundle, environment: environment)] ?? [:]).values.sorted { $0.number < $1.number }
    }

    /// Every channel, the oldest first.
    var all: [Channel] { channels.values.flatMap(\.values).sorted { $0.number < $1.number } }

    /// Whether a text can be a channel id at all: base64 of 16 bytes, with padding.
    static func isWellFormed(_ id: String) -> Bool { id.utf8.count == 24 && Base64.decode(id)?.count == 16 }
}
