internal import Executables

/// The whole path on one machine: simulator, service, a match, its phones, and what they show in the end.
struct Demo: Sendable {
    let services: Workplace
    let phoneCount: Int
    let pace: Pace
    private let start = ContinuousClock.now

    init(services: Workplace, phoneCount: Int, pace: Pace) {
        self.services = services
        self.phoneCount = phoneCount
        self.pace = pace
    }

    /// What there is to go on with after the match.
    struct Result: Sendable {
        let right: Int
        let phones: Int
        let url: String
        let key: String
        let control: String
    }

    /// Runs it from the first process to the last line but one.
    func run() async throws(Failure) -> Result {
        guard let script = MatchScriptWriter.script(of: FinalOf2022.match, kicks: FinalOf2022.kicks) else {
            preconditionFailure("the final was played")
        }
        say("starting the simulator of Apple's push service")
        let apns = try await services.startSimulator().ready
        say("starting the service, with a PostgreSQL of its own")
        let service = try await services.startService(apns).ready
        say("making a tenant, its keys, an app in both environments, and a match")
        let stage = try await DemoStage.prepare(service: service, apns: apns, script: script)
        say("registering \(phoneCount) phones: half on channels, half on update tokens")
        let phones = try await stage.registerPhones(phoneCount)
        try await stage.registerDeletedApps(10)
        say("kick-off: Argentina–France, the final of 2022\n")
        try await play(script, stage, phones)
        let right = try await check(script, stage, phones)
        let deliveries = try await deliveries(stage)
        Terminal.print("\n" + DemoTable(deliveries: deliveries, script: script).text + "\n")
        return Result(
            right: right,
            phones: phones.reduce(0) { $0 + $1.count },
            url: service.url,
            key: stage.adminKey,
            control: apns.control
        )
    }

    private func play(_ script: MatchScript, _ stage: DemoStage, _ phones: [MatchPhones]) async throws(Failure) {
        let sample = SamplePhone(simulator: stage.simulator, phones: phones)
        let feed = Feed(api: stage.feed, pace: pace)
        Terminal.print(Self.line("", "", "until it is on a phone by:", ("channel", "token")))
        _ = try await feed.play(script, match: DemoStage.match) { step, answer in
            guard step.importance == .key, step.kind != .end else { return }
            // A missed kick changes nothing to be seen: phones show the state already.
            let before = script.steps.prefix(max(0, (answer.version ?? 0) - 1)).last?.state
            let landed = before == step.state ? ("–", "–") : await sample.landing(of: step.state)
            Terminal.print(Self.line(step.state.clock, "ARG \(step.state.score) FRA", step.note, landed))
        }
    }

    /// A line of the match, in columns; 75 wide.
    private static func line(
        _ clock: String,
        _ score: String,
        _ note: String,
        _ landed: (onChannel: String, onToken: String)
    ) -> String {
        pad(clock, to: 5, onTheLeft: true) + "  " + pad(score, to: 24) + pad(note, to: 27)
            + pad(landed.onChannel, to: 8, onTheLeft: true) + pad(landed.onToken, to: 9, onTheLeft: true)
    }

    private func check(
        _ script: MatchScript,
        _ stage: DemoStage,
        _ phones: [MatchPhones]
    ) async throws(Failure) -> Int {
        Terminal.print("")
        say("full time: Argentina \(script.final.score) France")
        say("the end is held for some seconds, in case a goal comes late")
        var right = 0
        for group in phones {
            let before = right
            right += try await PhoneCheck(simulator: stage.simulator).countRight(group, final: script.final) { count in
                Terminal.progress("\(before + count) phones on the final state")
            }
            Terminal.endProgress()
        }
        return right
    }

    /// The last turns are recorded a moment after phones have got their push.
    private func deliveries(_ stage: DemoStage) async throws(Failure) -> DemoTable.Deliveries {
        let path = AdminCommand.path("matches", DemoStage.match, "deliveries")
        let end = ContinuousClock.now + .seconds(10)
        while true {
            let deliveries: DemoTable.Deliveries = try await stage.admin.send("GET", path).decode()
            if deliveries.isDone || ContinuousClock.now > end { return deliveries }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private static func pad(_ text: String, to width: Int, onTheLeft: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return onTheLeft ? space + text : text + space
    }

    private func say(_ text: String) {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let rounded = Self.pad("\((seconds * 10).rounded() / 10)", to: 5, onTheLeft: true)
        Terminal.print("[\(rounded) s] \(text)")
    }
}
