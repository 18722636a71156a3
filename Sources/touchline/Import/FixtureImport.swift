internal import Core
internal import Executables
internal import FoundationEssentials

/// Brings the service's matches to what a file says: makes those that are missing, changes those that differ.
struct FixtureImport: Sendable {
    let api: APIClient
    let bundle: String
    /// Nothing is made or changed: what would be is counted.
    var isDry = false
    /// Matches that have ended, and are to be played at another time, begin anew.
    var renews = false
    /// This machine's clock.
    var now = Timestamp(seconds: Int64(Date.now.timeIntervalSince1970))
    /// Calls at the same time.
    var callsAtOnce = 16

    /// What became of one fixture.
    enum Outcome: Sendable {
        case created(warnings: [String])
        case changed(warnings: [String])
        case unchanged(warnings: [String])
        /// The service's own words.
        case refused(Failure)

        var warnings: [String] {
            switch self {
            case .created(let warnings), .changed(let warnings), .unchanged(let warnings): warnings
            case .refused: []
            }
        }
    }

    /// A match as the service lists it.
    struct Known: Sendable {
        let json: JSONValue

        /// Whether putting `fixture` would change nothing. Of a match that has had events, the first state is of the past.
        func isAlready(_ fixture: Fixture) -> Bool {
            let hasBegun = json.member("version")?.rawJSON.text != "0"
            for name in Fixture.names {
                let wanted = fixture.value(name).flatMap { try? JSONScanner.decode($0.bytes) }
                let found = json.member(name)
                switch name {
                case "kickoff_at":
                    guard time(wanted) == time(found) else { return false }
                case "content_state":
                    guard wanted == nil || hasBegun || says(wanted, found) else { return false }
                case "status":
                    guard wanted == nil || says(wanted, found) else { return false }
                case "topics":
                    guard says(wanted, found) || (wanted == nil && found?.rawJSON.text == "[]") else { return false }
                case "ends_after_silence":
                    guard says(wanted, found) || (wanted == nil && found?.isNull ?? true) else { return false }
                case "renew": continue
                case "start":
                    guard says(wanted, found, isStart: true) else { return false }
                default:
                    guard says(wanted, found) else { return false }
                }
            }
            return true
        }

        var hasEnded: Bool { json.member("status")?.rawJSON.text == "\"ended\"" }

        /// Whether it has ended, and `fixture` says that it is played at another time: its id is used again.
        func isOutlived(by fixture: Fixture) -> Bool {
            let wanted = fixture.value("kickoff_at").flatMap { try? JSONScanner.decode($0.bytes) }
            return hasEnded && time(wanted) != time(json.member("kickoff_at"))
        }

        /// What is left of `fixture` to be told: a match that is live or over was scheduled, and a file need not know.
        func news(of fixture: Fixture) -> Fixture {
            guard ["\"live\"", "\"ended\""].contains(json.member("status")?.rawJSON.text ?? ""),
                fixture.value("status")?.text == "\"scheduled\""
            else { return fixture }
            var fixture = fixture
            fixture.members.removeAll { $0.name == "status" }
            return fixture
        }

        private func says(_ wanted: JSONValue?, _ found: JSONValue?, isStart: Bool = false) -> Bool {
            guard let wanted, let found else { return wanted == nil && found == nil }
            return ShownJSON(isStart: isStart).shows(found, for: wanted)
        }

        private func time(_ value: JSONValue?) -> Timestamp? {
            guard case .string(let text)? = value?.content else { return nil }
            return Timestamp(text)
        }
    }

    /// Imports all, and tells `progress` how many are done.
    ///
    /// Throws a ``Failure`` when the service does not answer, or the key may not do it; what was done by then stays done, and
    /// the same import goes on from there.
    func run(
        _ fixtures: [Fixture],
        progress: @escaping @Sendable (Int) -> Void
    ) async throws(Failure) -> [Outcome] {
        let bundles = Set(fixtures.compactMap { $0.text("bundle") } + [bundle])
        let known = try await matches(of: bundles)
        let contracts = isDry ? try await FixtureContracts(of: bundles, api) : nil
        let slots = Slots(callsAtOnce)
        let result = await withTaskGroup(of: (Int, Result<Outcome, Failure>).self) {
            group -> Result<[Outcome], Failure> in
            for (index, fixture) in fixtures.enumerated() {
                group.addTask {
                    do throws(Failure) {
                        let outcome = try await slots.run { () async throws(Failure) in
                            try await put(fixture, known[fixture.match], contracts)
                        }
                        return (index, .success(outcome))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var outcomes: [(Int, Outcome)] = []
            var ending: Failure?
            for await (index, result) in group {
                switch result {
                case .success(let outcome): outcomes.append((index, outcome))
                case .failure(let failure):
                    // What ends the import ends it now; what follows from that is no news.
                    ending = ending ?? failure
                    group.cancelAll()
                }
                progress(outcomes.count)
            }
            return ending.map { .failure($0) } ?? .success(outcomes.sorted { $0.0 < $1.0 }.map(\.1))
        }
        return try result.get()
    }

    /// The service's word for a match whose events it ignores.
    static let hasEnded = "match_ended"

    private struct Put: Decodable { let warnings: [String]? }

    private func put(
        _ fixture: Fixture,
        _ known: Known?,
        _ contracts: FixtureContracts?
    ) async throws(Failure) -> Outcome {
        var fixture = fixture
        let isRenewed = renews && known?.isOutlived(by: fixture) ?? false
        if isRenewed { fixture.fill("renew", with: true) } else { fixture = known?.news(of: fixture) ?? fixture }
        let ended = known?.hasEnded == true && fixture.value("renew") == nil ? [Self.hasEnded] : []
        // That a match which was played has ended is no news.
        if let known, known.isAlready(fixture) { return .unchanged(warnings: fixture.isAhead(of: now) ? ended : []) }
        if let contracts {
            do throws(Failure) {
                let warnings = try contracts.check(fixture) + ended
                return known == nil ? .created(warnings: warnings) : .changed(warnings: warnings)
            } catch {
                return .refused(error)
            }
        }
        guard !Task.isCancelled else { throw Failure(.failed, "the import was ended") }
        do throws(Failure) {
            let path = AdminCommand.path("matches", fixture.match)
            let answer = try await api.send("PUT", path, fixture.body)
            let warnings = try answer.decode(Put.self).warnings ?? []
            return answer.status == 201 ? .created(warnings: warnings) : .changed(warnings: warnings)
        } catch {
            // A refusal of this one fixture has a code; a key that may not, and an absent service, are about all of them.
            guard error.code != nil, error.kind != .notAllowed, error.code != "unavailable" else { throw error }
            return .refused(error)
        }
    }

    private func matches(of bundles: Set<String>) async throws(Failure) -> [String: Known] {
        var known: [String: Known] = [:]
        for bundle in bundles { known.merge(try await matches(of: bundle)) { $1 } }
        return known
    }

    /// A bundle's matches by id.
    private func matches(of bundle: String) async throws(Failure) -> [String: Known] {
        var known: [String: Known] = [:]
        var after: String?
        repeat {
            var path = "/v1/matches?limit=1000&bundle=\(ServiceURL.segment(bundle))"
            if let after { path += "&after=\(ServiceURL.segment(after))" }
            let answer = try await api.send("GET", path)
            guard let page = try? JSONScanner.decode(answer.body),
                case .array(let items)? = page.member("items")?.content
            else { throw Failure(.failed, "the service answered something unexpected: \(answer.text.prefix(200))") }
            for item in items {
                if case .string(let id)? = item.member("match")?.content { known[id] = Known(json: item) }
            }
            after = if case .string(let next)? = page.member("next")?.content { next } else { nil }
        } while after != nil
        return known
    }
}
