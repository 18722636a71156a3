internal import Core
internal import Executables

/// The contracts of bundles' types, by which a dry run finds what the service would refuse.
struct FixtureContracts: Sendable {
    private struct Pair: Sendable {
        let contentState: Contract
        let attributes: Contract?
    }

    /// By bundle and type.
    private var types: [String: [String: Pair]] = [:]

    /// Reads all of them. A bundle whose types the key may not see is left out, and nothing of it is checked.
    init(of bundles: Set<String>, _ api: APIClient) async throws(Failure) {
        for bundle in bundles {
            do throws(Failure) {
                let answer = try await api.send("GET", AdminCommand.path("apps", bundle, "types") + "?limit=1000")
                guard case .array(let items)? = (try? JSONScanner.decode(answer.body))?.member("items")?.content else {
                    throw Failure(.failed, "the service answered something unexpected: \(answer.text.prefix(200))")
                }
                add(items, of: bundle)
            } catch {
                guard error.kind == .notAllowed || error.kind == .notFound else { throw error }
            }
        }
    }

    /// Those of a list of types, as the service shows them.
    init(_ items: [JSONValue], of bundle: String) { add(items, of: bundle) }

    private mutating func add(_ items: [JSONValue], of bundle: String) {
        types[bundle] = [:]
        for item in items { add(item, of: bundle) }
    }

    private mutating func add(_ item: JSONValue, of bundle: String) {
        guard case .string(let name)? = item.member("type")?.content, let state = item.member("content_state"),
            let contract = try? Contract(state, path: "content_state")
        else { return }
        let attributes = item.member("attributes").flatMap { try? Contract($0, path: "attributes") }
        types[bundle]?[name] = Pair(contentState: contract, attributes: attributes)
    }

    /// What the service would say to a fixture's state and attributes.
    ///
    /// Throws a ``Failure`` as the service's refusal becomes one.
    func check(_ fixture: Fixture) throws(Failure) -> [String] {
        guard let bundle = fixture.text("bundle"), let known = types[bundle], let type = fixture.text("type") else {
            return []
        }
        guard let pair = known[type] else { return ["type_without_contract"] }
        do throws(Problem) {
            var warnings: [String] = []
            for (name, contract) in [("attributes", pair.attributes), ("content_state", pair.contentState)] {
                guard let contract, let value = Self.value(name, of: fixture) else { continue }
                warnings += try contract.check(value, path: name).warnings
            }
            return warnings
        } catch {
            let field = error.field.map { " (field \($0))" } ?? ""
            throw Failure(
                .failed,
                "\(error.detail)\(field) [\(error.code.rawValue)]",
                hint: error.hint,
                code: error.code.rawValue
            )
        }
    }

    private static func value(_ name: String, of fixture: Fixture) -> JSONValue? {
        fixture.value(name).flatMap { try? JSONScanner.decode($0.bytes) }
    }
}
