internal import APNsProtocol
internal import Core
internal import EventLoop
internal import Executables
internal import Glibc
internal import HTTP2
internal import Server

extension Command {
    static let pushes: [Command] = [
        push(
            .update,
            "push a state to one phone or channel, by hand",
            options: HandPush.channelOptions,
            example: "touchline push update " + credential
                + "--environment sandbox --token 0a1b2c3d --content-state '{\"home\":1,\"away\":0}' --dry-run"
        ),
        push(
            .end,
            "end one phone's card, or all of a channel, by hand",
            options: HandPush.channelOptions + [
                Option("--dismiss-after", "SECONDS", "when the card goes; 0: at once; else within four hours")
            ],
            example: "touchline push end " + credential
                + "--channel AAECAwQFBgcICQoLDA0ODw== --dismiss-after 0 --dry-run"
        ),
        push(
            .start,
            "start a card on one phone, by hand",
            options: [
                Option("--attributes-type", "TYPE", isRequired: true, "the unqualified ActivityAttributes type"),
                Option("--attributes", "JSON|@FILE", isRequired: true, "as that type decodes them"),
                Option("--listen-channel", "ID", "the channel that it is to listen on; iOS 18 and later only"),
                Option("--collapse-id", "TEXT", "of several that wait, the phone gets the last"),
            ],
            example: "touchline push start " + credential
                + "--token 0a1b2c3d --attributes-type ScoreAttributes --attributes '{}' "
                + "--content-state '{\"home\":0,\"away\":0}' --alert-title Kick-off --alert-body Now --dry-run"
        ),
    ]

    private static let credential =
        "--p8 AuthKey.p8 --team ABCDE12345 --key FGHIJ67890 --bundle com.acme.scores "

    private static func push(
        _ event: LiveActivityEvent,
        _ summary: String,
        options: [Option],
        example: String
    ) -> Command {
        Command(
            "push \(event.rawValue)",
            summary,
            options: HandPush.options + options,
            details: """
                Needs no service and no database: it signs a provider token, sends one request to APNs, and says what \
                the answer means. The token is not shown. What APNs or a phone would not take is refused before it is \
                sent. Exit codes: 0 accepted, 1 refused or no answer, 2 nothing was sent.
                """,
            example: example
        ) { invocation throws(Failure) in
            try await PushRun(invocation, event).run()
        }
    }
}

/// One push by hand, from the command line to the meaning of the answer.
private struct PushRun {
    let push: HandPush
    let key: SigningKey
    let host: Settings.HostPort
    let caFile: String?
    let asJSON: Bool
    let isDry: Bool
    let now = HandPush.clock()
    let id = HandPush.makeID()

    init(_ invocation: Invocation, _ event: LiveActivityEvent) throws(Failure) {
        push = try HandPush(invocation, event, now: now)
        isDry = invocation.isOn("--dry-run")
        asJSON = invocation.isOn("--json")
        caFile = invocation.value("--ca")
        if let text = invocation.value("--host") {
            guard let parsed = Settings.HostPort(text) else {
                throw Failure(.wrongUse, "--host is HOST:PORT, not “\(text)”", hint: "Try: --host localhost:9443")
            }
            host = parsed
        } else {
            host = Settings.HostPort(host: push.environment.pushHost, port: push.environment.pushPort)
        }
        let faults = push.faults
        guard faults.isEmpty else {
            throw Failure(.wrongUse, faults.joined(separator: "; "), hint: "Nothing was sent.")
        }
        key = try SigningKey(invocation)
    }

    func run() async throws(Failure) {
        let view = PushView(push: push, key: key, host: host, id: id)
        let token = try key.providerToken(at: now)
        if !asJSON { Terminal.print(view.request) }
        for note in push.notes { Terminal.complain("note: \(note)") }
        guard !isDry else {
            return asJSON ? Terminal.print(view.json(nil).text) : Terminal.print("\nnothing was sent (--dry-run)")
        }
        let answer: APNsExchange.Answer
        do {
            answer = try await APNsExchange(host: host, caFile: caFile, loop: EventLoop(name: "push")).send(
                push.route.method,
                push.route.path,
                fields: view.fields,
                token: token,
                body: push.composer.compose(),
                by: .now + .seconds(30)
            )
        } catch {
            throw Failure(.failed, "\(host): \(error)", hint: "See \(Trouble.connecting.place)")
        }
        Terminal.print(asJSON ? view.json(answer).text : "\n" + view.answer(answer))
        guard answer.response.status == 200 else {
            let reason = ErrorAnswer(answer.response.body).reason
            throw Failure(.failed, "APNs refused it: \(answer.response.status) \(reason)".trimmed)
        }
    }
}

extension HandPush {
    /// UNIX seconds.
    static func clock() -> Int64 { Int64(time(nil)) }

    /// A random id.
    static func makeID() -> APNsID {
        APNsID(seed: (0..<16).map { _ in UInt8.random(in: 0...255) }, index: 0)
    }
}
