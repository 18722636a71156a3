import EventLoop
import Executables
import Foundation
import Glibc
import Testing

/// A shell that was set up for another PostgreSQL.
@Suite("Touchline with a PostgreSQL of its own, among variables of libpq", .timeLimit(.minutes(5)))
struct EmbeddedEnvironmentTests {
    /// Each alone keeps a client of libpq from connecting, or changes its session.
    private static let foreign = [
        "PGHOST": "192.0.2.1", "PGHOSTADDR": "192.0.2.1", "PGPORT": "1", "PGSERVICE": "nowhere",
        "PGTZ": "Nowhere/Nothing",
        "PGTARGETSESSIONATTRS": "standby", "PGOPTIONS": "-c nonsense=1", "PGDATABASE": "other", "PGUSER": "other",
        "PGSSLMODE": "require", "PGREQUIRESSL": "1", "PGREQUIREPEER": "nobody", "PGCHANNELBINDING": "require",
        "PGGSSENCMODE": "require", "PGDATESTYLE": "nonsense", "PGGEQO": "nonsense", "PGCLIENTENCODING": "nonsense",
        "PGCONNECT_TIMEOUT": "nonsense", "PGDATA": "/nonexistent", "PGSERVICEFILE": "/nonexistent",
    ]

    @Test("serves and is examined as without them, and names them")
    func ignored() async throws {
        let place = try Workplace(in: ProcessInfo.processInfo.environment["TMPDIR"], name: "touchline-pg")
        do {
            let data = "\(place.folder)/data"
            let service: Workplace.Started<Ready> = try await place.start(
                "touchline",
                ["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--data", data],
                environment: Self.foreign
            )
            let log = try String(contentsOfFile: service.log, encoding: .utf8)
            for name in Self.foreign.keys { #expect(log.contains(name), "\(name): \(log)") }
            var doctor = ChildProcess.Options(
                "\(try Workplace.ownFolder())/touchline",
                ["doctor", "--json", "--data", data, "--url", service.ready.url]
            )
            doctor.environment = Self.foreign.merging([
                // Refused at once.
                "TOUCHLINE_APNS_SANDBOX_PUSH": "127.0.0.1:1", "TOUCHLINE_APNS_SANDBOX_MANAGE": "127.0.0.1:1",
                "TOUCHLINE_APNS_PRODUCTION_PUSH": "127.0.0.1:1", "TOUCHLINE_APNS_PRODUCTION_MANAGE": "127.0.0.1:1",
            ]) { $1 }
            let (_, output) = try await ChildProcess.run(doctor, by: .now + .seconds(120))
            #expect(output.contains(#""part":"database","state":"ok""#), "\(output)")
        } catch {
            await place.stop()
            throw error
        }
        await place.stop()
    }

    private struct Ready: Decodable, Sendable {
        let url: String
    }
}
