import APNsProtocol
import APNsSimulator
import Core
import EventLoop
import Executables
import Foundation
import HTTP2
import Server
import Store
import TestSupport
import Testing

@testable import touchline

@Suite("The doctor", .timeLimit(.minutes(2)))
struct DoctorTests {
    private func settings(_ flags: [String: String], database: String? = nil) throws -> Settings {
        var environment = ["HOME": "/nowhere", "TOUCHLINE_MASTER_KEY": MasterKey.random().base64]
        environment["DATABASE_URL"] = database
        return try Settings(
            Settings.Source(
                value: { flags[$0] },
                isOn: { _ in false },
                environment: environment,
                isRoot: false
            )
        )
    }

    private func flags(_ simulator: APNsSimulator) -> [String: String] {
        [
            "--apns-ca": simulator.caFile,
            "--apns-production-push": "localhost:\(simulator.port(.production, .push))",
            "--apns-production-manage": "localhost:\(simulator.port(.production, .manage))",
        ]
    }

    private func key(_ simulator: APNsSimulator, team: String? = nil) throws -> SigningKey {
        let words = [
            "push", "update", "--p8", simulator.p8File, "--team", team ?? simulator.teamID, "--key", simulator.keyID,
        ]
        let parser = CommandParser(program: .touchline, commands: Command.all)
        guard case .run(let invocation) = try parser.parse(words, environment: [:]) else {
            throw Failure(.failed, "help instead of a command")
        }
        return try SigningKey(invocation)
    }

    @Test("finds APNs' hosts and its clock in order")
    func goodHosts() async throws {
        try await withSimulator { simulator in
            let apns = APNsCheckup(settings: try settings(flags(simulator)), loop: try EventLoop(name: "doctor"))
            let findings = await apns.hosts(of: .production)
            #expect(findings.filter { $0.state == .bad }.isEmpty, "\(findings)")
            #expect(findings.map(\.part).first == "production push host")
        }
    }

    @Test("names a host that does not answer, and roots that are not trusted")
    func badHosts() async throws {
        try await withSimulator { simulator in
            var flags = flags(simulator)
            flags["--apns-production-manage"] = "localhost:1"
            let loop = try EventLoop(name: "doctor")
            let findings = await APNsCheckup(settings: try settings(flags), loop: loop).hosts(of: .production)
            let bad = findings.filter { $0.state == .bad }
            #expect(bad.map(\.part) == ["production management host"])
            #expect(bad.first?.trouble == .connecting && bad.first?.hint?.contains("localhost:1") == true)
            flags["--apns-ca"] = nil
            let untrusted = await APNsCheckup(settings: try settings(flags), loop: loop).hosts(of: .production)
            #expect(untrusted.count == 2 && untrusted.allSatisfy { $0.state == .bad })
        }
    }

    @Test("tells a credential that APNs takes from one that it does not")
    func credentials() async throws {
        try await withSimulator { simulator in
            let apns = APNsCheckup(settings: try settings(flags(simulator)), loop: try EventLoop(name: "doctor"))
            let bundle = try #require(BundleID(validating: "com.acme.scores"))
            let good = await apns.credential(try key(simulator), bundle: bundle, environment: .production)
            #expect(good.state == .good, "\(good)")
            let bad = await apns.credential(
                try key(simulator, team: "OTHERTEAM1"),
                bundle: bundle,
                environment: .production
            )
            #expect(bad.state == .bad && bad.detail.contains("InvalidProviderToken"))
            #expect(bad.trouble == .providerTokens && bad.hint?.contains("touchline app set") == true)
        }
    }

    @Test(
        "judges an answer by its reason",
        arguments: [
            (400, "BadDeviceToken", Finding.State.good, Trouble?.none), (403, "Forbidden", .bad, .providerTokens),
            (403, "ExpiredProviderToken", .bad, .clock), (400, "TopicDisallowed", .bad, .topics),
            (403, "BadEnvironmentKeyIdInToken", .bad, .environments), (503, "ServiceUnavailable", .bad, .outages),
            (418, "SomethingNew", .bad, .providerTokens),
        ] as [(Int, String, Finding.State, Trouble?)]
    )
    func verdicts(status: Int, reason: String, state: Finding.State, trouble: Trouble?) {
        let response = HTTPResponse(status: status, body: Array(#"{"reason":"\#(reason)"}"#.utf8))
        let finding = APNsCheckup.verdict("credential", response)
        #expect(finding.state == state && finding.trouble == trouble)
        #expect((finding.hint == nil) == (state == .good))
    }

    @Test(
        "compares the clock",
        arguments: [(0, Finding.State.good), (30, .good), (31, .bad), (-4_000, .bad)] as [(Int64, Finding.State)]
    )
    func clocks(ahead: Int64, state: Finding.State) {
        let response = HTTPResponse(status: 403, fields: ["date": "Sun, 06 Nov 1994 08:49:37 GMT"])
        let finding = APNsCheckup.clock(response, part: "clock", now: 784_111_777 + ahead)
        #expect(finding.state == state)
        if state == .bad { #expect(finding.detail.contains("\(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind")")) }
    }

    @Test("names a database that is away")
    func databaseAway() async throws {
        let conninfo = "host=127.0.0.1 port=1 user=nobody dbname=nothing"
        let checkup = DatabaseCheckup(
            settings: try settings([:], database: conninfo),
            loop: try EventLoop(name: "doctor")
        )
        let (findings, apps) = await checkup.run(conninfo)
        #expect(findings.map(\.part) == ["database"] && apps.isEmpty)
        #expect(findings.first?.state == .bad && findings.first?.hint?.contains("DATABASE_URL") == true)
    }

    @Test("names what stopped, with the section for its reason")
    func stopped() {
        let body = #"""
            {"items":[{"bundle":"com.acme.scores","environment":"sandbox",
             "stopped":{"tokens":"Forbidden: the key may have been revoked","channels":null}}]}
            """#
        let findings = Doctor.stopped(APIClient.Answer(status: 200, body: Array(body.utf8)))
        #expect(findings.map(\.part) == ["tokens of com.acme.scores sandbox"])
        #expect(findings.first?.trouble == .providerTokens && findings.first?.hint?.contains("--go-on") == true)
    }

    @Test("names what keeps channels from being made, each reason once")
    func missing() {
        let full = #""state":"pending","last_error":"CannotCreateChannelConfig: as many as Apple allows""#
        let body = #"""
            {"items":[{"match":"a","state":"open","last_error":null},{"match":"b",\#(full)},
             {"match":"c","state":"pending","last_error":"APNs could not be reached"},{"match":"d",\#(full)},
             {"match":"e","state":"pending","last_error":null},{"match":"f","state":"open","last_error":"replaced"}]}
            """#
        let findings = Doctor.missing(APIClient.Answer(status: 200, body: Array(body.utf8)))
        #expect(
            findings.map(\.detail) == [
                "2 are, such as that of b, not there yet: CannotCreateChannelConfig: as many as Apple allows",
                "that of c is not there yet: APNs could not be reached",
            ]
        )
        #expect(findings.allSatisfy { $0.state == .bad && $0.trouble == .channels })
        #expect(findings.first?.hint == ReasonGuide("CannotCreateChannelConfig")?.remedy)
    }

    @Test("fits 80 columns")
    func fits() {
        let long = String(repeating: "word ", count: 60)
        for finding in [Finding.good("a", long), .bad("b", long, hint: long, .channels), .skipped("c", long)] {
            for line in finding.text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        }
    }

    @Test("exits 1 when something is wrong")
    func exitCode() async {
        let words = [
            "doctor", "--data", "/nowhere", "--url", "http://127.0.0.1:1", "--apns-production-push", "localhost:1",
            "--json",
        ]
        let hosts = [
            "--apns-production-manage", "localhost:1", "--apns-sandbox-push", "localhost:1", "--apns-sandbox-manage",
            "localhost:1",
        ]
        #expect(await Touchline.run(words + hosts, environment: ["HOME": "/nowhere"]) == 1)
    }
}
