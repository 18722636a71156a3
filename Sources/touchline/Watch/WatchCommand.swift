internal import Core
internal import EventLoop
internal import Executables
internal import FoundationEssentials
import Glibc

extension Command {
    static let matchWatch = Command(
        "match watch",
        "watch a match live: its score, its version, and where its pushes are",
        arguments: [Argument("MATCH", "its id")],
        options: [
            Option("--interval", "SECONDS", default: "1", "between two looks"),
            Option("--once", "look once, and end"),
            Option("--json", "a line of JSON for each change"),
        ] + APIOptions.all,
        details: """
            On a terminal it fills the screen, until Ctrl-C or until the match has ended and every phone has its end. Elsewhere \
            it prints a line for each change. TAKEN is what APNs accepted, GONE are phones that deleted the app, REFUSED \
            are tokens that APNs does not know, GIVEN UP is what failed for good, and WAIT what is still to come. What is \
            behind is named with its time and with APNs' last answer.
            """,
        example: "touchline match watch final"
    ) { invocation throws(Failure) in
        try await MatchWatch(
            api: APIOptions.client(invocation),
            match: invocation.words[0],
            interval: .seconds(try invocation.integer("--interval", in: 1...3_600) ?? 1),
            isOnce: invocation.isOn("--once"),
            asJSON: invocation.isOn("--json")
        ).run()
    }
}

/// Looks at a match again and again, and shows what changed.
struct MatchWatch: Sendable {
    let api: APIClient
    let match: String
    let interval: Duration
    let isOnce: Bool
    let asJSON: Bool

    /// Until the match is over, or somebody interrupts.
    func run() async throws(Failure) {
        // What is wrong with the first look is told as any command tells it.
        let first = try await look()
        let hasScreen = Terminal.size != nil && !asJSON && !isOnce
        if isOnce || (first.isOver && !hasScreen) { return show(first, before: nil, hasScreen: false) }
        let signals: AsyncStream<Int32>
        do throws(EventLoopError) {
            signals = try SignalWatcher.start([SIGINT, SIGTERM, SIGHUP], on: EventLoop(name: "signals"))
        } catch {
            throw Failure(.failed, "no event loop: \(error)")
        }
        if hasScreen { Terminal.openScreen() }
        // Whoever presses Ctrl-C has seen enough: that is how it ends, at once, and no failure.
        let interrupts = Task {
            for await signal in signals {
                if hasScreen { Terminal.closeScreen() }
                exit(signal == SIGINT ? 0 : 128 + signal)
            }
        }
        let end: Result<WatchedMatch, Failure>
        do throws(Failure) {
            end = .success(try await follow(first, hasScreen: hasScreen))
        } catch {
            end = .failure(error)
        }
        interrupts.cancel()
        if hasScreen { Terminal.closeScreen() }
        let last = try end.get()
        if hasScreen { Terminal.print(last.line) }
    }

    /// Until the match is over, or gone.
    private func follow(_ first: WatchedMatch, hasScreen: Bool) async throws(Failure) -> WatchedMatch {
        var newest = first
        show(first, before: nil, hasScreen: hasScreen)
        while !newest.isOver {
            try? await Task.sleep(for: interval)
            do throws(Failure) {
                let next = try await look()
                show(next, before: newest, hasScreen: hasScreen)
                newest = next
            } catch {
                guard error.kind != .notFound else { throw error }
                // A service that is started again is worth waiting for.
                if hasScreen {
                    draw(newest, note: error.message)
                } else {
                    Terminal.complain("\(error.message); trying again")
                }
            }
        }
        return newest
    }

    private func look() async throws(Failure) -> WatchedMatch { try await MatchLook(api: api, match: match).watched() }

    private func show(_ match: WatchedMatch, before: WatchedMatch?, hasScreen: Bool) {
        if hasScreen { return draw(match, note: nil) }
        guard match != before else { return }
        guard !asJSON else { return Terminal.print(match.json.text) }
        Terminal.print("\(now)  \(match.line)")
        // Of what is behind the age changes by itself.
        let hasMoved =
            match.sends.map(\.behind_since) != before?.sends.map(\.behind_since)
            || match.sends.map(\.last_answer) != before?.sends.map(\.last_answer)
        if hasMoved { for line in match.behind(now: .now) { Terminal.print("    \(line)") } }
        if match.errors != before?.errors { for error in match.errors { Terminal.print("    \(error)") } }
    }

    private func draw(_ match: WatchedMatch, note: String?) {
        let size = Terminal.size ?? (80, 24)
        let foot = note.map { "\($0); trying again" } ?? "Ctrl-C ends"
        let lines = match.lines(width: size.columns, now: .now).prefix(size.rows - 1)
        Terminal.draw(lines + [String(foot.prefix(size.columns))])
    }

    private var now: String { Date.now.formatted(.iso8601) }
}

extension WatchedMatch {
    fileprivate var json: JSONOutput {
        [
            "match": .string(match), "status": .string(status), "version": .int(version), "paused": .bool(isPaused),
            "content_state": (try? JSONScanner.decode(Array(contentState.utf8))).map { .raw($0.rawJSON) } ?? .null,
            "targets": .array(
                sends.map { send in
                    [
                        "target": .string(send.target), "environment": .string(send.environment),
                        "cadence": .string(send.cadence), "versions": .array(send.versions.map { .int($0) }),
                        "state": .string(send.state), "accepted": .int(send.accepted), "removed": .int(send.removed),
                        "refused": .int(send.refused), "given_up": .int(send.given_up), "failed": .int(send.failed),
                        "waiting": .int(send.waiting), "behind": .int(send.behind),
                        "behind_since": .string(send.behind_since), "last_answer": .string(send.last_answer),
                    ]
                }
            ),
            "waiting": .int(waiting), "failed": .int(failed), "errors": .array(errors.map { .string($0) }),
        ]
    }
}
