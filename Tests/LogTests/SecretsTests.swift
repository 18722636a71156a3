import Log
import TestSupport
import Testing

@Suite("Secrets that reach the log in other people's words")
struct SecretsTests {
    private static let token = String(repeating: "0a1b2c3d", count: 10)

    @Test(
        "are taken out",
        arguments: [
            "no key tl_admin_k8f3_SECRETSECRETSECRET was found",
            "authorization: bearer eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJTRUNSRVQifQ.SECRETSECRET",
            "BadDeviceToken for \(token)SECRET",
            "connection to postgres://ada:SECRET@db.example/touchline failed",
            "connection to postgresql://ada:SECRET@and/@db.example/touchline?sslmode=require failed",
            "host=db password=SECRET user=ada", "host=db password='SECRET \\' SECRET' user=ada",
            "postgres://db/x?user=ada&password=SECRET&sslmode=require",
            "not a key: -----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----",
            "Failing row: {\"home\": 1, \"scorer\": \"SECRET\"}",
            "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQgSECRETSECRETSECRETSECRET",
        ]
    )
    func areRemoved(text: String) {
        for format in LogFormat.allCases {
            let log = LogFixture(format)
            Logger(log.output, subsystem: "api").info("seen", ["reason": text])
            let lines = log.lines()
            #expect(lines.count == 1)
            #expect(!lines.joined().contains("SECRET"), "\(lines)")
            #expect(!lines.joined().contains(Self.token))
        }
    }

    @Test(
        "are not seen where there are none",
        arguments: [
            "postgres://ada@db.example:5432/touchline", "http://127.0.0.1:8080", "worldcup-2022/final",
            "premier_league/2025-26/liverpool-fc/bournemouth-afc-with-a-long-name", "p_0123456789abcdef",
            "4bf92f3577b34da6a3ce929d0e0e4736", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "TooManyProviderTokenUpdates",
            "/var/lib/touchline/a/rather/long/path/to/a/file/that/nobody/would/call/secret.pem",
        ]
    )
    func areNotInvented(text: String) {
        let log = LogFixture()
        Logger(log.output, subsystem: "api").info("seen", ["what": text])
        #expect(log.lines().first?.hasSuffix("what=\(text)") == true)
    }
}
