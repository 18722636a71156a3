import APNsProtocol
import Log
import Server
import Testing

@Suite("Settings")
struct SettingsTests {
    private func settings(
        _ flags: [String: String] = [:],
        switches: Set<String> = [],
        environment: [String: String] = ["HOME": "/home/ada"],
        isRoot: Bool = false
    ) throws(SettingsFault) -> Settings {
        try Settings(
            Settings.Source(
                value: { flags[$0] },
                isOn: { switches.contains($0) },
                environment: environment,
                isRoot: isRoot
            )
        )
    }

    @Test("have a default for everything with the embedded PostgreSQL")
    func defaults() throws {
        let settings = try settings()
        #expect(settings.listen.description == "127.0.0.1:8080")
        #expect(settings.metricsListen.description == "127.0.0.1:9464")
        #expect(settings.databaseURL == nil)
        #expect(settings.dataFolder == "/home/ada/.local/state/touchline")
        #expect(settings.masterKey == .dataFolder)
        #expect(settings.roles == Set(Settings.Role.allCases))
        #expect(settings.apns[.production]?.push.description == "api.push.apple.com:443")
        #expect(settings.apns[.production]?.manage.description == "api-manage-broadcast.push.apple.com:2196")
        #expect(settings.apns[.sandbox]?.broadcast.description == "api.sandbox.push.apple.com:443")
        #expect(settings.apns[.sandbox]?.manage.description == "api-manage-broadcast.sandbox.push.apple.com:2195")
        #expect(settings.drain == .seconds(20))
        #expect(settings.logFormat == .text)
        #expect(settings.logLevel == .info)
    }

    @Test("choose the log's form and the least that it takes")
    func log() throws {
        let settings = try settings(["--log": "json", "--log-level": "warning"])
        #expect(settings.logFormat == .json)
        #expect(settings.logLevel == .warning)
    }

    @Test("keep data where the system expects it")
    func dataFolder() throws {
        #expect(try settings(isRoot: true).dataFolder == "/var/lib/touchline")
        let state = ["XDG_STATE_HOME": "/state", "HOME": "/home/ada"]
        #expect(try settings(environment: state).dataFolder == "/state/touchline")
        #expect(try settings(["--data": "here"]).dataFolder == "here")
        #expect(throws: SettingsFault.self) { try settings(environment: [:]) }
    }

    @Test("send broadcasts where pushes go, unless told otherwise")
    func endpoints() throws {
        let moved = try settings(["--apns-sandbox-push": "[::1]:1", "--apns-production-broadcast": "b.example:2"])
        #expect(moved.apns[.sandbox]?.broadcast.description == "[::1]:1")
        #expect(moved.apns[.production]?.broadcast.description == "b.example:2")
        #expect(moved.apns[.production]?.push.description == "api.push.apple.com:443")
    }

    @Test("need a master key from one place with a database of the operator's")
    func masterKey() throws {
        let url = ["HOME": "/home/ada", "DATABASE_URL": "postgres:///x"]
        #expect(throws: SettingsFault.self) { try settings(environment: url) }
        #expect(try settings(["--master-key-file": "k"], environment: url).masterKey == .file("k"))
        let both = url.merging(["TOUCHLINE_MASTER_KEY": "AAAA"]) { $1 }
        #expect(try settings(environment: both).masterKey == .base64("AAAA"))
        #expect(throws: SettingsFault.self) { try settings(["--master-key-file": "k"], environment: both) }
    }

    @Test(
        "that cannot be are refused by their flag's name",
        arguments: [
            ("--listen", "8080"), ("--listen", ":8080"), ("--listen", "::1:80"), ("--listen", "host:70000"),
            ("--metrics-listen", "host:-1"), ("--roles", "api,boss"), ("--roles", ""), ("--drain", "soon"),
            ("--drain", "-1"), ("--database-connections", "2"), ("--tls-cert", "file"), ("--tls-key", "file"),
            ("--apns-sandbox-manage", "x"), ("--log", "xml"), ("--log", "JSON"), ("--log-level", "loud"),
        ]
    )
    func refused(flag: String, value: String) throws {
        let fault = #expect(throws: SettingsFault.self) { try settings([flag: value]) }
        #expect(fault?.message.contains(flag) == true)
    }
}
