internal import Core
internal import Executables
import FoundationEssentials

/// One match: a feed that posts its events, and phones that follow it.
///
/// What happens is drawn from the seed; when the service answers is not.
actor MatchPlay {
    /// How a match's feed leaves it.
    enum Ending: CaseIterable, Sendable {
        /// With `end`; a late goal may follow.
        case end
        /// Live, with a key event last.
        case key
        /// Live, with a routine event last: it has to go out when its gap is over.
        case routine
    }

    let app: ChaosApp
    let client: ChaosClient
    let simulator: SimulatorControl
    let scripted: ScriptedFaults
    let phoneCount: Int
    let eventsPerSecond: Double
    /// When what is not answered yet is given up.
    let giveUp: ContinuousClock.Instant
    var book: MatchBook
    /// Of the feed, and of the phones: what one does must not depend on when the other one gets its turn.
    var feedDice: Dice
    var phoneDice: Dice
    /// Phones with a call under way.
    var busy: Set<Int> = []
    var counts = PhoneCounts()
    var complaints: [String] = []
    private(set) var feedCounts = FeedCounts()

    struct FeedCounts: Sendable {
        var duplicates = 0
        var reordered = 0
    }

    struct PhoneCounts: Sendable {
        var registered = 0
        var rotated = 0
        var cadences = 0
        var refused = 0
        var revived = 0
        var left = 0
        var repeated = 0

        static func += (sum: inout PhoneCounts, other: PhoneCounts) {
            sum.registered += other.registered
            sum.rotated += other.rotated
            sum.cadences += other.cadences
            sum.refused += other.refused
            sum.revived += other.revived
            sum.left += other.left
            sum.repeated += other.repeated
        }
    }

    init(
        _ number: Int,
        _ app: ChaosApp,
        _ client: ChaosClient,
        _ stage: ChaosStage,
        _ options: ChaosOptions,
        giveUp: ContinuousClock.Instant
    ) {
        self.app = app
        self.client = client
        simulator = stage.simulator
        scripted = stage.scripted
        phoneCount = options.phones
        eventsPerSecond = Double(options.rate) / Double(options.matches)
        self.giveUp = giveUp
        book = MatchBook(match: "match-\(number)", number: number)
        feedDice = Dice(seed: options.seed, stream: "feed \(number)")
        phoneDice = Dice(seed: options.seed, stream: "phones \(number)")
    }

    func path(_ part: String) -> String { "/v1/matches/\(book.match)/\(part)" }

    static var now: Double { Date.now.timeIntervalSince1970 }

    /// Plays it until `end`, and then leaves it as `ending` says, once `isCalm` has returned.
    func play(until end: ContinuousClock.Instant, _ ending: Ending, isCalm: @Sendable () async -> Void) async {
        await follow(4)
        guard await create() else { return }
        await withDiscardingTaskGroup { group in
            for cadence in app.channelCadences { group.addTask { await self.follow(cadence, until: end) } }
            if app.hasTokens { group.addTask { await self.live(until: end) } }
            group.addTask { await self.feed(until: end) }
            group.addTask { await self.follow(2) }
        }
        await isCalm()
        await finish(ending)
    }

    private func create() async -> Bool {
        let body: JSONOutput = [
            "bundle": .string(app.bundle), "type": "ScoreAttributes",
            "kickoff_at": .string(Date.now.formatted(.iso8601)), "content_state": state(0),
            "start": ["alert": ["title": "Kick-off", "body": .string(book.match)]],
        ]
        guard let answer = await client.call("PUT", "/v1/matches/\(book.match)", body.bytes, by: giveUp) else {
            complaints.append("\(book.match) could not be made")
            return false
        }
        if answer.status >= 300 { complaints.append("\(book.match) was answered \(answer.status): \(answer.text)") }
        return answer.status < 300
    }

    // MARK: - The feed

    private func feed(until end: ContinuousClock.Instant) async {
        await withDiscardingTaskGroup { group in
            while ContinuousClock.now < end, !Task.isCancelled {
                await step(&group)
                let pause = Double(feedDice.number(in: 20...180)) / 100 / eventsPerSecond
                try? await Task.sleep(until: min(end, .now + .seconds(pause)), clock: .continuous)
            }
        }
    }

    /// One event, or several in another order or at once, and perhaps one of them again.
    private func step(_ group: inout DiscardingTaskGroup) async {
        switch feedDice.number(in: 0...99) {
        case 0..<10:
            // A burst: the next is posted before the last is answered.
            for _ in 0..<feedDice.number(in: 2...5) {
                let event = draft(.update)
                group.addTask { await self.send(event) }
                try? await Task.sleep(for: .milliseconds(feedDice.number(in: 5...60)))
            }
        case 10..<20:
            // The later one comes first.
            feedCounts.reordered += 1
            let (earlier, later) = (draft(.update), draft(.update))
            await send(later)
            await send(earlier)
        case 20..<25: await send(draft(.heartbeat))
        case 25..<30: await send(draft(.correction))
        case 30..<40:
            // The same one twice at the same time.
            feedCounts.duplicates += 1
            let event = draft(.update)
            async let other: Void = send(event)
            await send(event)
            await other
        case 40..<50:
            feedCounts.duplicates += 1
            let event = draft(.update)
            await send(event)
            await send(event)
        default: await send(draft(.update))
        }
    }

    private func finish(_ ending: Ending) async {
        switch ending {
        case .key: await send(draft(.update, isKey: true))
        case .routine: await send(draft(.update, isKey: false))
        case .end:
            await send(draft(.end))
            // Within the hold it folds in, behind the end it is ignored.
            if feedDice.chance(50) {
                try? await Task.sleep(for: .milliseconds(feedDice.number(in: 500...8_000)))
                await send(draft(.update, isKey: true))
            }
            if app.hasTokens {
                try? await Task.sleep(for: .milliseconds(phoneDice.number(in: 0...9_000)))
                await register(isFrequent: true)
            }
        }
    }

    /// An event that was noted, and its body, the same each time that it is sent.
    private struct Draft: Sendable {
        let index: Int
        let body: [UInt8]
    }

    private func draft(_ kind: EventBook.Kind, isKey: Bool? = nil) -> Draft {
        let sequence = book.events.count + 1
        // Numbers are drawn whatever the kind, so that those behind stay the same.
        let drawn = feedDice.chance(25)
        let hasOwnAlert = feedDice.chance(50)
        let isKey = isKey ?? (kind == .update ? drawn : kind != .heartbeat)
        let hasAlert = isKey && (kind == .update || hasOwnAlert) && kind != .heartbeat
        let title = hasAlert ? "\(kind.rawValue) \(book.number)-\(sequence)" : nil
        let event = EventBook(
            id: "event-\(sequence)",
            sequence: sequence,
            kind: kind,
            isKey: isKey,
            title: title,
            posted: Self.now
        )
        book.events.append(event)
        var body: [(String, JSONOutput)] = [
            ("id", .string(event.id)), ("kind", .string(kind.rawValue)), ("sequence", .int(sequence)),
        ]
        if kind != .heartbeat {
            body.append(("importance", isKey ? "key" : "routine"))
            body.append(("content_state", state(sequence)))
        }
        if let title { body.append(("alert", ["title": .string(title), "body": "of chaos", "sound": "default"])) }
        return Draft(index: book.events.count - 1, body: (.object(body) as JSONOutput).bytes)
    }

    private func state(_ sequence: Int) -> JSONOutput {
        ["home": .int(sequence), "away": .int(book.number), "clock": .string("\(sequence)'")]
    }

    private struct EventAnswer: Decodable {
        let status: String
        let version: Int
    }

    private func send(_ draft: Draft) async {
        guard let answer = await client.call("POST", path("events"), draft.body, by: giveUp) else { return }
        guard answer.status < 300, let said = answer.decode(EventAnswer.self) else {
            let id = book.events[draft.index].id
            complaints.append("\(book.match) \(id) was answered \(answer.status): \(answer.text)")
            return
        }
        if book.events[draft.index].answered == nil { book.events[draft.index].answered = Self.now }
        let short = EventBook.Answer(status: said.status, version: said.version)
        if !book.events[draft.index].answers.contains(short) { book.events[draft.index].answers.append(short) }
    }
}
