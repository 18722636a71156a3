import Testing

@testable import PostgreSQL

@Suite("What a session is like")
struct SessionFactsTests {
    private static let good = SessionFacts(
        user: "touchline",
        database: "scores",
        serverVersion: 150_020,
        serverEncoding: "UTF8",
        clientEncoding: "UTF8",
        synchronousCommit: "on",
        isFsyncOn: true,
        writesFullPages: true,
        isStandby: false,
        isReadOnly: false,
        pooling: .none,
        schema: "public",
        mayCreateTables: true,
        foreignOwner: nil,
        roleConnections: nil,
        databaseConnections: nil,
        serverConnections: 97
    )

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let refused: [SessionFinding.Kind]
        let warned: [SessionFinding.Kind]
        let change: @Sendable (inout SessionFacts) -> Void

        init(
            _ name: String,
            refused: [SessionFinding.Kind] = [],
            warned: [SessionFinding.Kind] = [],
            _ change: @escaping @Sendable (inout SessionFacts) -> Void
        ) {
            testDescription = name
            (self.refused, self.warned, self.change) = (refused, warned, change)
        }
    }

    private static let cases = [
        Case("all is well") { _ in },
        Case("a pooler in session mode") { $0.pooling = .session },
        Case("a pooler in transaction mode", refused: [.pooler]) { $0.pooling = .transaction },
        Case("a pooler in statement mode", refused: [.pooler]) { $0.pooling = .statement },
        Case("a pooler of an unknown mode", warned: [.unknownPooler]) { $0.pooling = .unknown },
        Case("LATIN1", refused: [.encoding]) { $0.serverEncoding = "LATIN1" },
        Case("SQL_ASCII", refused: [.encoding]) { $0.serverEncoding = "SQL_ASCII" },
        Case("a client in LATIN1", refused: [.clientEncoding]) { $0.clientEncoding = "LATIN1" },
        Case("PostgreSQL 13", refused: [.oldServer]) { $0.serverVersion = 130_014 },
        Case("a standby", refused: [.standby]) { ($0.isStandby, $0.isReadOnly) = (true, true) },
        Case("read-only", refused: [.readOnly]) { $0.isReadOnly = true },
        Case("no schema", refused: [.noSchema]) { ($0.schema, $0.mayCreateTables) = (nil, false) },
        // Only who has to make tables is stopped by it.
        Case("no right to create") { $0.mayCreateTables = false },
        Case("tables of somebody else", refused: [.foreignTables]) { $0.foreignOwner = "alice" },
        Case("no fsync", warned: [.fsync]) { $0.isFsyncOn = false },
        Case("no full pages", warned: [.fullPageWrites]) { $0.writesFullPages = false },
        Case("commits that do not wait", warned: [.synchronousCommit]) { $0.synchronousCommit = "off" },
        Case("commits that wait for this server only") { $0.synchronousCommit = "local" },
        Case("a role's limit of 5", warned: [.fewConnections]) { $0.roleConnections = 5 },
        Case("a database's limit of 4", warned: [.fewConnections]) { $0.databaseConnections = 4 },
        Case("a server's limit of 3", refused: [.fewConnections]) { $0.serverConnections = 3 },
        Case("a role's limit of 0", refused: [.fewConnections]) { $0.roleConnections = 0 },
        Case("a role's limit of 13") { $0.roleConnections = 13 },
        Case("the worst comes first", refused: [.encoding, .pooler], warned: [.fsync]) {
            ($0.serverEncoding, $0.pooling, $0.isFsyncOn) = ("LATIN1", .transaction, false)
        },
    ]

    @Test("is refused, warned of, or fine", arguments: cases)
    func judgement(of example: Case) {
        var facts = Self.good
        example.change(&facts)
        let findings = facts.findings()
        #expect(findings.filter(\.isRefused).map(\.kind) == example.refused)
        #expect(findings.filter { !$0.isRefused }.map(\.kind) == example.warned)
        for finding in findings { #expect(!finding.hint.isEmpty && !finding.detail.hasSuffix(".")) }
    }

    @Test("only a standby may become another by itself")
    func waits() {
        var facts = Self.good
        (facts.isStandby, facts.serverEncoding) = (true, "LATIN1")
        #expect(facts.findings().map(\.mayPass) == [false, true])
    }

    @Test("uses as many connections as are allowed, one left for the doctor, and never fewer than its parts need")
    func connections() {
        var facts = Self.good
        for (limit, used) in [(100, 12), (13, 12), (12, 11), (6, 5), (5, 4), (4, 4)] {
            facts.roleConnections = limit
            #expect(facts.connections(ofWanted: 12) == used, "\(limit)")
        }
    }

    @Test("names of people's own are quoted in what they are told to run")
    func quoting() {
        var facts = Self.good
        (facts.user, facts.database) = ("My \"user\"", "scores-2026")
        #expect(facts.creationHint.contains(#"ALTER DATABASE "scores-2026" OWNER TO "My ""user""";"#))
    }

    @Test(
        "a refusal's SQLSTATE is told from its text, in whichever language",
        arguments: [
            (#"connection to "db", port 5432 failed: FATAL:  53300: too many connections for role "x""#, "53300"),
            ("connection failed: FATAL:  28P01: password authentication failed", "28P01"),
            ("connection failed: ВАЖНО:  57P03: система баз данных запускается", "57P03"),
            ("connection failed: FATAL:  the word ERROR: is none", nil),
            ("could not connect: Connection refused", nil),
        ] as [(String, String?)]
    )
    func refusals(text: String, state: String?) {
        let error = PGError.refused(text)
        #expect(error.sqlState == state && error.kind == .unavailable)
        #expect(!error.message.contains("\(state ?? "53300"): "))
        #expect(error.isTooManyConnections == (state == "53300"))
        #expect(error.isRefusal == (state == "28P01"))
    }
}
