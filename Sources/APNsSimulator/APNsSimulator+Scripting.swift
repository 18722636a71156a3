package import Crypto
import EventLoop
import Glibc

// What a program in the same process asks of a simulator; scripts use the control API.
extension APNsSimulator {
    /// Replaces all fault rules.
    ///
    /// - Parameter json: `{"rules":[…]}`, as `PUT /_sim/faults` takes it.
    /// - Throws: What is wrong with the rules, with the field.
    package func setFaults(_ json: String) async throws(SimulatorError) {
        do {
            await service.setFaults(try FaultRules.parse(try JSONTextParser.parse(Array(json.utf8))))
        } catch { throw SimulatorError("\(error)") }
    }

    package func clearFaults() async { await service.setFaults([]) }

    package var counts: SimulatorCounts { get async { await service.currentCounts } }

    /// Lets the service know another key.
    package func add(_ credential: SimulatedCredential) async { await service.add(credential) }

    /// Switches an app's broadcast capability; off deletes its channels.
    package func setBroadcast(_ isEnabled: Bool, bundle: String, in environment: SimulatedEnvironment) async {
        await service.setBroadcast(isEnabled, bundle, environment)
    }

    /// Registers phones by the control API's body: `{"environment":…,"phones":[…]}`.
    package func addPhones(_ json: String) async throws(SimulatorError) {
        do {
            let text = Array(json.utf8)
            _ = try await service.addPhones(try PhoneRegistrations(try JSONTextParser.parse(text), text: text))
        } catch { throw SimulatorError("\(error)") }
    }

    /// What the phone of a token shows, as text; nil if there is no such phone, or it shows nothing.
    package func shown(on token: String) async -> String? {
        guard let token = DeviceTokenText.bytes(token) else { return nil }
        return await service.shown(on: token)
    }

    /// What phones on a channel show, as text, with how many; of a group that shows nothing, an empty text.
    package func shown(onChannel channel: String) async -> [String: Int] {
        await service.shown(onChannel: channel)
    }

    /// The newest requests, the oldest of them first.
    package func requests(last count: Int = 100) async -> [SeenRequest] {
        await service.log.last(count).map { entry in
            SeenRequest(
                method: entry.request.method,
                path: entry.request.path,
                headers: Dictionary(entry.request.headersForDisplay.map { ($0.name, $0.value) }) { first, _ in first },
                body: entry.request.body,
                status: entry.status,
                reason: entry.reason
            )
        }
    }

    /// The service's time, UNIX seconds.
    package func clock() -> Int64 { service.configuration.clock() }

    /// The key of the simulator's own credential: what its `.p8` file holds.
    package var key: P256PrivateKey { files.key }

    /// SIGTERM and SIGINT, each as often as it comes. To be called once.
    package func terminationSignals() throws(SimulatorError) -> AsyncStream<Int32> {
        do throws(EventLoopError) {
            return try SignalWatcher.start([SIGTERM, SIGINT], on: loops[0])
        } catch { throw SimulatorError("\(error)") }
    }
}

/// A request that the simulator answered.
package struct SeenRequest: Sendable {
    package let method: String
    package let path: String
    /// Without the provider token's signature.
    package let headers: [String: String]
    package let body: [UInt8]
    package let status: Int
    /// Nil for a success.
    package let reason: String?
}

extension SimulatedService {
    fileprivate func shown(on token: [UInt8]) -> String? {
        for environment in SimulatedEnvironment.allCases {
            if let shows = phones(in: environment).phone(token)?.shows {
                return String(decoding: shows.raw, as: UTF8.self)
            }
        }
        return nil
    }

    fileprivate func shown(onChannel channel: String) -> [String: Int] {
        var counts: [String: Int] = [:]
        for environment in SimulatedEnvironment.allCases {
            for group in phones(in: environment).groups(on: channel) {
                counts[group.shows.map { String(decoding: $0.raw, as: UTF8.self) } ?? "", default: 0] += Int(
                    group.count
                )
            }
        }
        return counts
    }
}
