internal import APNsProtocol
internal import Core
internal import EventLoop
internal import Executables
internal import Glibc
internal import HTTP2
internal import Server

/// Tries APNs: its hosts, this machine's clock against its `date`, and credentials.
struct APNsCheckup: Sendable {
    let settings: Settings
    let loop: EventLoop

    /// The most that two clocks may differ: a tenth of what APNs forgives.
    private static let toleratedSeconds: Int64 = 30
    /// A token that no phone has: what is asked with it must be refused for it, and for nothing else.
    private static let nobody = String(repeating: "0", count: 64)

    /// Both hosts of an environment, and the clock.
    func hosts(of environment: APNsEnvironment) async -> [Finding] {
        guard let endpoints = settings.apns[environment] else { return [] }
        let bundle = "com.example.touchline.doctor"
        var findings: [Finding] = []
        for (name, host, method, path) in [
            ("push", endpoints.push, "POST", "/3/device/\(Self.nobody)"),
            ("management", endpoints.manage, "GET", "/1/apps/\(bundle)/all-channels"),
        ] {
            let part = "\(environment.rawValue) \(name) host"
            do {
                // Without a provider token: any answer says that somebody is there who speaks HTTP/2 over TLS.
                let answer = try await exchange(host).send(
                    method,
                    path,
                    fields: [],
                    token: nil,
                    body: [],
                    by: .now + .seconds(15)
                )
                findings.append(.good(part, "\(host) answers within \(answer.duration.wholeMilliseconds) ms"))
                if name == "push" {
                    findings.append(Self.clock(answer.response, part: "\(environment.rawValue) clock"))
                }
            } catch {
                findings.append(
                    .bad(
                        part,
                        "\(host): \(error)",
                        hint: "Let connections out to \(host), and check what --apns-… and --apns-ca say.",
                        .connecting
                    )
                )
            }
        }
        return findings
    }

    /// A push of an app's credential that must be refused for its token, and for nothing else.
    func credential(_ key: SigningKey, bundle: BundleID, environment: APNsEnvironment) async -> Finding {
        let part = "credential of \(bundle.text) \(environment.rawValue)"
        guard let endpoints = settings.apns[environment], let token = DeviceToken(validating: Self.nobody) else {
            return .skipped(part, "no host")
        }
        let now = HandPush.clock()
        let push = HandPush(
            bundle: bundle,
            environment: environment,
            route: .device(token),
            composer: PayloadComposer(event: .update, stamp: now, contentState: RawJSON(text: "{}")),
            priority: 5,
            expiration: 0
        )
        do {
            let response = try await exchange(endpoints.push).send(
                push.route.method,
                push.route.path,
                fields: push.headers.fields(route: push.route, id: HandPush.makeID()),
                token: try key.providerToken(at: now),
                body: push.composer.compose(),
                by: .now + .seconds(15)
            ).response
            return Self.verdict(part, response)
        } catch {
            return .bad(part, "\(error)", hint: "The host's line above says more.", .connecting)
        }
    }

    private func exchange(_ host: Settings.HostPort) -> APNsExchange {
        APNsExchange(host: host, caFile: settings.apnsCAFile, loop: loop)
    }

    static func verdict(_ part: String, _ response: HTTPResponse) -> Finding {
        let reason = ErrorAnswer(response.body).reason
        switch (response.status, reason) {
        // The simulator models a phone for each token.
        case (200, _), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (410, _):
            return .good(part, "APNs takes the key (\(response.status)\(reason.isEmpty ? "" : " \(reason)"))")
        default:
            let guide = ReasonGuide(reason)
            return .bad(
                part,
                "\(response.status) \(reason): \(guide?.cause ?? "a reason that is not known here")",
                hint: guide?.remedy ?? "`touchline push` shows the whole answer.",
                guide?.trouble ?? .providerTokens
            )
        }
    }

    /// This machine's clock against APNs' own.
    static func clock(_ response: HTTPResponse, part: String, now: Int64 = HandPush.clock()) -> Finding {
        guard let date = response.fields["date"], let theirs = HTTPDate.seconds(date) else {
            return .skipped(part, "the answer has no date to compare with")
        }
        let ahead = now - theirs
        guard abs(ahead) > toleratedSeconds else { return .good(part, "within \(toleratedSeconds) s of APNs'") }
        return .bad(
            part,
            "this machine's clock is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") APNs'",
            hint: "Set it, and keep it set: chrony or systemd-timesyncd.",
            .clock
        )
    }
}
