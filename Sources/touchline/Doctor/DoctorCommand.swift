internal import APNsProtocol
internal import Core
internal import EventLoop
internal import Executables
internal import Glibc
internal import PostgreSQL
internal import Server

extension Command {
    static let doctor = Command(
        "doctor",
        "try each part, and say what to fix",
        options: [
            Option("--data", "DIR", environment: "TOUCHLINE_DATA", "the data folder of an embedded service"),
            Option("--master-key-file", "FILE", "the key that encrypts the apps' keys"),
        ] + apnsOptions + APIOptions.all + [Option("--json", "for programs")],
        details: """
            Tries the service and the API key; the database, its tables and its clock; the master key; APNs' hosts, and \
            this machine's clock by their answers; and each app's credential, by a push that must be refused for its \
            token and nothing else. Give it the settings that `touchline serve` has. Each line that is wrong says what \
            to do, and names a section of TROUBLES.md. Exits 1 when something is wrong.
            """,
        example: "touchline doctor"
    ) { invocation throws(Failure) in
        let findings = try await Doctor(invocation).examine()
        let wrong = findings.count { $0.state == .bad }
        if invocation.isOn("--json") {
            let members: JSONOutput = ["wrong": .int(wrong), "findings": .array(findings.map(\.json))]
            Terminal.print(members.text)
        } else {
            Terminal.print(findings.map(\.text).joined(separator: "\n"))
        }
        if wrong > 0 { throw Failure(.failed, wrong == 1 ? "1 part is wrong" : "\(wrong) parts are wrong") }
    }
}

/// Goes through all parts.
struct Doctor {
    private let invocation: Invocation
    private let loop: EventLoop

    init(_ invocation: Invocation) throws(Failure) {
        self.invocation = invocation
        do throws(EventLoopError) { loop = try EventLoop(name: "doctor") } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
    }

    func examine() async throws(Failure) -> [Finding] {
        var findings = await service()
        let settings: Settings
        do throws(SettingsFault) { settings = try self.settings() } catch {
            let hint = error.hint ?? "`touchline serve --help` lists the settings."
            return findings + [.bad("settings", error.message, hint: hint, .service)]
        }
        var apps: [DatabaseCheckup.App] = []
        if let conninfo = settings.databaseURL ?? Self.embedded(settings.dataFolder) {
            let found = await DatabaseCheckup(settings: settings, loop: loop).run(conninfo)
            findings += found.findings
            apps = found.apps
        } else {
            findings.append(
                .skipped("database", "no DATABASE_URL, and no service of its own runs in \(settings.dataFolder)")
            )
        }
        let apns = APNsCheckup(settings: settings, loop: loop)
        let used = APNsEnvironment.allCases.filter { environment in
            apps.isEmpty || apps.contains { $0.environment == environment }
        }
        for environment in used { findings += await apns.hosts(of: environment) }
        for app in apps {
            findings.append(await apns.credential(app.key, bundle: app.bundle, environment: app.environment))
        }
        return findings
    }

    /// What `touchline serve` would make of the same options and environment.
    private func settings() throws(SettingsFault) -> Settings {
        let known = Set(invocation.command.options.map(\.name))
        return try Settings(
            Settings.Source(
                value: { known.contains($0) ? invocation.value($0) : nil },
                isOn: { known.contains($0) && invocation.isOn($0) },
                environment: invocation.environment,
                isRoot: geteuid() == 0
            )
        )
    }

    /// How to reach the PostgreSQL that a service runs in its data folder; nil where none does.
    private static func embedded(_ folder: String) -> String? {
        // Its files may be elsewhere, as that file says.
        let elsewhere = (try? File.read("\(folder)/postgres.location")).map {
            String(decoding: $0, as: UTF8.self).trimmed
        }
        let files = elsewhere ?? "\(folder)/postgres"
        guard let bytes = try? File.read("\(files)/postmaster.pid") else { return nil }
        // The fifth line is the socket's folder (PostgreSQL, `pidfile.h`).
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 4, !lines[4].isEmpty else { return nil }
        LibpqEnvironment.clear()
        return "host=\(lines[4]) user=touchline dbname=touchline"
    }

    /// Whether the service is ready, and what it says to the key; what stopped in the key's apps.
    private func service() async -> [Finding] {
        let url = invocation.value("--url") ?? ""
        do throws(Failure) {
            let open = try APIClient.connecting(to: url, key: nil, caFile: invocation.value("--ca"), on: loop)
            _ = try await open.send("GET", "/readyz", timeout: .seconds(15))
            await open.close()
        } catch {
            let hint = error.hint ?? "Look at the service's log."
            return [.bad("service", error.message, hint: hint, .service)]
        }
        var findings: [Finding] = [.good("service", "\(url) is ready")]
        let client: APIClient
        do throws(Failure) { client = try APIOptions.client(invocation) } catch {
            return findings + [.skipped("API key", "\(error.message): TOUCHLINE_KEY or --key-file names one")]
        }
        do throws(Failure) {
            let answer = try await client.send("GET", "/v1/apps?limit=1000", timeout: .seconds(15))
            findings.append(.good("API key", "is taken"))
            findings += Self.stopped(answer)
            findings += Self.missing(try await client.send("GET", "/v1/channels?limit=1000", timeout: .seconds(15)))
        } catch  where error.code == "tenant_required" {
            findings.append(.good("API key", "is an operator's; --tenant shows a tenant's stopped apps, too"))
        } catch  where error.code == "role_not_allowed" {
            findings.append(.good("API key", "is taken; its role may not list apps"))
        } catch {
            let hint = error.hint ?? "Make another with `touchline key create`, or `touchline key bootstrap`."
            findings.append(.bad("API key", error.message, hint: hint, .service))
        }
        await client.close()
        return findings
    }

    /// The apps whose work stopped, by the reason at the beginning of the text.
    static func stopped(_ answer: APIClient.Answer) -> [Finding] {
        guard let value = try? JSONScanner.read(answer.body), case .array(let apps)? = value.member("items")?.content
        else {
            return []
        }
        return apps.flatMap { app in
            ["tokens", "channels"].compactMap { kind -> Finding? in
                guard case .string(let why)? = app.member("stopped")?.member(kind)?.content,
                    case .string(let bundle)? = app.member("bundle")?.content,
                    case .string(let environment)? = app.member("environment")?.content
                else { return nil }
                let guide = ReasonGuide(String(why.prefix { $0 != ":" && $0 != " " }))
                let goOn = "Then: touchline app change \(bundle) \(environment) --go-on"
                return .bad(
                    "\(kind) of \(bundle) \(environment)",
                    "stopped: \(why)",
                    hint: guide.map { "\($0.remedy) \(goOn)" } ?? goOn,
                    guide?.trouble ?? .environments
                )
            }
        }
    }

    /// What keeps channels from being made, each reason once.
    static func missing(_ answer: APIClient.Answer) -> [Finding] {
        guard let value = try? JSONScanner.read(answer.body),
            case .array(let channels)? = value.member("items")?.content
        else {
            return []
        }
        var counts: [(why: String, match: String, count: Int)] = []
        for channel in channels {
            guard case .string("pending")? = channel.member("state")?.content,
                case .string(let why)? = channel.member("last_error")?.content,
                case .string(let match)? = channel.member("match")?.content
            else { continue }
            if let place = counts.firstIndex(where: { $0.why == why }) {
                counts[place].count += 1
            } else {
                counts.append((why, match, 1))
            }
        }
        return counts.map { why, match, count in
            let which = count == 1 ? "that of \(match) is" : "\(count) are, such as that of \(match),"
            return .bad(
                "channels",
                "\(which) not there yet: \(why)",
                hint: ReasonGuide(String(why.prefix { $0 != ":" && $0 != " " }))?.remedy
                    ?? "Touchline goes on trying: see `touchline channel list`.",
                .channels
            )
        }
    }
}
