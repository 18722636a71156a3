import APNsProtocol
import Core
import PostgreSQL
import Server
import Store
import TestSupport
import Testing

extension EngineFixture.Options {
    /// An app whose matches are started; without a dispatcher, unless one is asked for.
    static func starts(channels: String = "none", dispatches: Bool = false) -> EngineFixture.Options {
        var options = EngineFixture.Options()
        options.app = "UPDATE apps SET channels = '\(channels)'"
        options.dispatches = dispatches
        return options
    }
}

extension EngineFixture {
    /// Makes the fixture's match one of two teams that is started, and plans its pass, which is due.
    func planStarts() async throws {
        _ = try await store.owner(
            by: Self.soon,
            [
                """
                UPDATE matches SET topics = '{team:a,team:b}', start_alert = '{"title":"Kick-off"}',
                    attributes = '{"name":"final"}'
                """,
                Store.planStarts(tenant: key.tenant, match: key.match),
            ]
        )
        bell.ring()
    }

    /// The fixture's match as the API takes it, with a start, and what else is given.
    func matchBody(inMinutes minutes: Int, _ more: String = "") async throws -> String {
        let kickoff = try await value(
            "SELECT extract(epoch FROM now() + interval '\(minutes) minutes')::bigint::text"
        )
        let time = Timestamp(seconds: try #require(Int64(kickoff ?? "")))
        return """
            {"bundle":"\(Self.bundle)","type":"Score","kickoff_at":"\(time)","topics":["team:a","team:b"],
             "attributes":{"name":"final"},"start":{"alert":{"title":"Kick-off","body":"Soon"}}\(more)}
            """
    }

    /// A phone with the push-to-start token of that number.
    func put(_ name: String, token: Int, _ topics: [String], channels: Bool = false) async throws {
        var draft = DeviceDraft(device: DeviceID(unchecked: name))
        draft.environment = .production
        draft.token = .some(DeviceToken(validating: TestTokens.token(token)))
        draft.supportsChannels = channels
        draft.topics = topics.map { Topic(unchecked: $0) }
        let answers = try await store.putDevices([draft], tenant: key.tenant, by: Self.soon)
        #expect(answers == [.stored])
        bell.ring()
    }

    /// What became of the match's starts, as the API tells it: by state, and those that have joined.
    func starts() async throws -> [String: Int] {
        let answer = try await admin().json("GET", "/v1/matches/final/starts", 200)
        let environment = try #require(answer["starts"].elements.first)
        let names = ["waiting", "sending", "accepted", "unknown", "refused", "given_up", "joined"]
        return Dictionary(uniqueKeysWithValues: names.map { ($0, Int(environment[$0].raw ?? "") ?? -1) })
    }
}
