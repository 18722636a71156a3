/// Holds what phones show against what the API accepted: a pure function of a run's books and its evidence.
struct ChaosChecker {
    private let books: [MatchBook]
    private let evidence: ChaosEvidence
    private let doubts: [Doubt]
    /// Times in which APNs made pushes wait or go again, so that newer ones could overtake them.
    private let delays: [Doubt]
    /// Times in which the database's clock was stepped so far that the two minutes of an alert were over at once.
    private let jumps: [Doubt]
    private var verdict = ChaosVerdict()

    /// A time in which it was in doubt whether a push had arrived. UNIX seconds.
    private struct Doubt {
        let begin: Double
        let end: Double

        func meets(_ since: Double, _ until: Double) -> Bool { begin <= until && since <= end }
    }

    /// An alert expires two minutes after its event; until then a newer one may stand for it.
    static let alertSeconds = 120.0

    static func verdict(on books: [MatchBook], _ evidence: ChaosEvidence) -> ChaosVerdict {
        var checker = ChaosChecker(books, evidence)
        checker.check()
        return checker.verdict
    }

    private init(_ books: [MatchBook], _ evidence: ChaosEvidence) {
        self.books = books
        self.evidence = evidence
        // Stamps of the simulator's are whole seconds.
        func times(_ isOne: (ChaosFault) -> Bool) -> [Doubt] {
            evidence.faults.filter { isOne($0.fault) }.map { Doubt(begin: $0.begin - 1, end: $0.end + 2) }
        }
        doubts = times { $0.kind.isDoubtful }
        delays = times { $0.kind.group == .apns }
        jumps = times { $0.kind == .clockStep && Double(abs($0.clockSeconds)) >= Self.alertSeconds }
    }

    private mutating func check() {
        for line in evidence.unsettled { verdict.add(.lost, "not settled: \(line)") }
        for line in evidence.sumsOff { verdict.add(.sums, line) }
        for book in books {
            guard let stored = evidence.matches[book.match] else {
                verdict.add(.lost, "\(book.match) is not in the database")
                continue
            }
            checkEvents(book, stored)
            checkPhones(book, stored)
            checkStarts(book, stored)
        }
        checkRepeats()
        checkDropped()
    }

    // MARK: - Events

    private mutating func checkEvents(_ book: MatchBook, _ stored: ChaosEvidence.StoredMatch) {
        var byVersion: [Int: String] = [:]
        for event in book.events {
            verdict.events += 1
            guard let answer = event.answers.first else {
                verdict.add(.lost, "\(book.match) \(event.id) was never answered")
                continue
            }
            if event.answers.count > 1 {
                let answers = event.answers.map { "\($0.status) \($0.version)" }.joined(separator: ", ")
                verdict.add(.misdeed, "\(book.match) \(event.id) was answered differently: \(answers)")
            }
            switch answer.status {
            case "accepted": verdict.accepted += 1
            case "superseded": verdict.superseded += 1
            default: verdict.ignored += 1
            }
            guard let row = stored.events[event.id], row.status == answer.status, row.version == answer.version else {
                let found = stored.events[event.id].map { "\($0.status) \($0.version)" } ?? "nothing"
                verdict.add(
                    .lost,
                    "\(book.match) \(event.id) was answered \(answer.status) \(answer.version), stored is \(found)"
                )
                continue
            }
            guard answer.status == "accepted" else { continue }
            if let other = byVersion.updateValue(event.id, forKey: answer.version) {
                verdict.add(.misdeed, "\(book.match) \(event.id) and \(other) are both version \(answer.version)")
            }
            if answer.version > stored.version {
                verdict.add(.lost, "\(book.match) is at version \(stored.version), \(event.id) was \(answer.version)")
            }
        }
        checkOrder(book)
    }

    /// Updates become versions in the order of their sequence; corrections and ends are exempt.
    private mutating func checkOrder(_ book: MatchBook) {
        var newest = 0
        let updates = book.events.filter { $0.kind == .update && $0.version != nil }
        for event in updates.sorted(by: { ($0.version ?? 0) < ($1.version ?? 0) }) {
            if event.sequence < newest {
                verdict.add(.stale, "\(book.match): event \(event.sequence) was accepted after event \(newest)")
            }
            newest = max(newest, event.sequence)
        }
    }

    // MARK: - Phones

    /// What every phone of a match has to have come to.
    private struct Wanted {
        let home: Int
        let match: ChaosEvidence.StoredMatch
        let book: MatchBook
    }

    private mutating func checkPhones(_ book: MatchBook, _ stored: ChaosEvidence.StoredMatch) {
        let states = stored.events.values.filter { $0.status == "accepted" && $0.kind != "heartbeat" }
        guard let last = states.max(by: { $0.version < $1.version }) else { return }
        let wanted = Wanted(home: last.sequence, match: stored, book: book)
        let alerts = Alerts(book)
        for phone in book.phones {
            guard phone.life == .live, let since = phone.since, let token = phone.tokens.last else { continue }
            verdict.phones += 1
            let name = "\(book.match) \(phone.activity)"
            // It said that it shows the last version, so nothing was sent to it.
            if !phone.isBehind && phone.version == stored.version && evidence.phones[token]?.shows == nil { continue }
            look(evidence.phones[token], wanted, name)
            let sights = phone.tokens.compactMap { evidence.phones[$0] }
            let titles = sights.reduce(into: [:]) { sum, sight in sum.merge(sight.alert_titles) { $0 + $1 } }
            checkAlerts(titles, alerts, since: since, 1, name)
            for event in alerts.events {
                let tokens = sights.count { $0.alert_titles[event.title ?? ""] != nil }
                if tokens > 1 { double(tokens - 1, event, name) }
            }
        }
        var seen: [String: Int] = [:]
        for group in book.groups {
            verdict.phones += group.count
            let index = seen[group.channel, default: 0]
            seen[group.channel] = index + 1
            let sights = evidence.groups[group.channel] ?? []
            let name = "\(book.match) group \(index) of \(group.channel)"
            let sight = index < sights.count ? sights[index] : nil
            look(sight, wanted, name)
            checkAlerts(sight?.alert_titles ?? [:], alerts, since: group.since, group.count, name)
        }
    }

    private mutating func look(_ sight: ChaosEvidence.PhoneSight?, _ wanted: Wanted, _ name: String) {
        guard let sight, let shows = sight.shows else {
            return verdict.add(.lost, "\(name) shows nothing, the last state is \(wanted.home)")
        }
        if shows.away != wanted.book.number {
            verdict.add(.misdeed, "\(name) shows match \(shows.away)")
        } else if shows.home != wanted.home {
            verdict.add(.stale, "\(name) shows \(shows.home), the last state is \(wanted.home)")
        } else if let stamp = wanted.match.stamp, sight.stamp ?? 0 < stamp, !(sight.ended && wanted.match.isEndRepeated)
        {
            // The database was read first: a channel that keeps nothing may have been sent to once more since.
            verdict.add(.stale, "\(name) has stamp \(sight.stamp ?? 0), the last version \(stamp)")
        } else if sight.ended != wanted.match.hasEnded {
            verdict.add(.stale, "\(name) has \(sight.ended ? "ended" : "not ended"), unlike its match")
        }
    }

    /// A start comes once, or it is in doubt whether it did. An ended match cancels what has not gone out.
    private mutating func checkStarts(_ book: MatchBook, _ stored: ChaosEvidence.StoredMatch) {
        for device in book.devices {
            verdict.followers += 1
            let count = evidence.phones[device.token]?.starts.reduce(0) { $0 + $1.count } ?? 0
            verdict.started += count
            let state = stored.starts[device.device]
            verdict.starts[state ?? "cancelled", default: 0] += 1
            switch (state, count) {
            case ("accepted", 1): break
            case ("accepted", 0):
                verdict.add(.lost, "\(device.device): its start was accepted and did not come")
            case ("unknown", 0...1), ("refused", 0), ("given_up", 0): break
            case (nil, 0) where stored.hasEnded: break
            case (_, 0): verdict.add(.lost, "\(device.device) was never started: \(state ?? "nothing was tried")")
            case (_, 1): verdict.add(.misdeed, "\(device.device) was started, and that is \(state ?? "not recorded")")
            default: verdict.add(.doubled, "\(device.device) was started \(count) times")
            }
        }
    }

    // MARK: - Alerts

    /// The alerts of a match and what may stand for them, in the order of their versions.
    private struct Alerts {
        var events: [EventBook]
        var corrections: [EventBook]

        init(_ book: MatchBook) {
            func inOrder(_ isOne: (EventBook) -> Bool) -> [EventBook] {
                book.events.filter { $0.version != nil && isOne($0) }
                    .sorted { ($0.version ?? 0) < ($1.version ?? 0) }
            }
            events = inOrder { $0.title != nil }
            corrections = inOrder { $0.kind == .correction }
        }
    }

    private mutating func checkAlerts(
        _ titles: [String: Int],
        _ alerts: Alerts,
        since: Double,
        _ count: Int,
        _ name: String
    ) {
        var newerShown = false
        var next: EventBook?
        for event in alerts.events.reversed() {
            defer { next = event }
            let shown = titles[event.title ?? ""] ?? 0
            // Who registered while it was on its way may have it or not.
            if event.posted >= since {
                verdict.alertsWanted += count
                if shown > 0 {
                    verdict.alertsShown += count
                } else if cancelled(event, alerts.corrections) {
                    verdict.alertsCancelled += count
                } else if newerShown, let next, next.posted - event.posted < Self.alertSeconds {
                    verdict.alertsReplaced += count
                } else if jumps.contains(where: { $0.meets(event.posted, event.posted + Self.alertSeconds) }) {
                    verdict.alertsExpired += count
                } else {
                    verdict.add(.lost, "\(name) never had the alert “\(event.title ?? "")”")
                }
            }
            if shown > 0 { newerShown = true }
        }
    }

    /// A correction takes back what is still pending then.
    private func cancelled(_ event: EventBook, _ corrections: [EventBook]) -> Bool {
        corrections.contains {
            ($0.version ?? 0) > (event.version ?? 0) && $0.posted - event.posted < Self.alertSeconds
        }
    }

    /// One alert on more than one token of a phone: each of them showed it once.
    private mutating func double(_ more: Int, _ event: EventBook, _ name: String) {
        verdict.alertsDoubled += more
        if doubts.contains(where: { $0.meets(event.posted, event.posted + Self.alertSeconds) }) {
            verdict.alertsDoubledExplained += more
        } else {
            verdict.add(.doubled, "\(name) had the alert “\(event.title ?? "")” on \(more + 1) of its tokens")
        }
    }

    // MARK: - Pushes

    private mutating func checkRepeats() {
        let (asked, registered, names) = (registeredAgain, registrations, names)
        let rotated = rotations
        // An alert whose first push is in doubt comes again, if need be with a state that has come without it.
        let withAlert = Set(evidence.repeats.filter { $0.kind == .alert && isInDoubt($0) }.map(\.push))
        for entry in evidence.repeats {
            let (since, until) = (Double(entry.since), Double(entry.at) + 1)
            let isExplained = isInDoubt(entry) || entry.kind == .same && withAlert.contains(entry.push)
            let name = entry.token.map { names[$0] ?? $0 } ?? entry.channel.map { "channel \($0)" } ?? "?"
            switch entry.kind {
            case .same where entry.brings_alert: verdict.alertsAfter += 1
            case .same:
                // Who registers again is sent the newest state again; no alert comes with it.
                // A fault may hold up either push, but the stamp says since when there was that state.
                let stamped = min(since, Double(entry.stamp) - 1)
                let token = entry.token ?? ""
                let isAsked =
                    asked[token]?.contains { $0.meets(stamped, until) } ?? false
                    // A push that waited for its phone takes the new token while the call that brings it goes on.
                    || rotated[token]?.contains { $0.meets(since, since + 1) } ?? false
                if !isExplained, isAsked {
                    verdict.asked += 1
                    continue
                }
                verdict.repeated += 1
                verdict.repeatedExplained += isExplained ? 1 : 0
                if !isExplained {
                    verdict.add(.doubled, "\(name) got stamp \(entry.stamp) at \(entry.since) and again at \(entry.at)")
                }
            case .alert:
                verdict.alertsDoubled += 1
                verdict.alertsDoubledExplained += isExplained ? 1 : 0
                if !isExplained {
                    verdict.add(.doubled, "\(name) had an alert at \(entry.since) and again at \(entry.at)")
                }
            case .older:
                verdict.older += 1
                // A registration's own push goes beside the sweeps', perhaps from another process.
                let isOvertaken =
                    isExplained || delays.contains { $0.meets(since - 30, until) }
                    || registered[entry.token ?? ""]?.contains { $0.meets(since - 30, until) } ?? false
                verdict.olderExplained += isOvertaken ? 1 : 0
                if !isOvertaken {
                    verdict.add(.reordered, "\(name) got stamp \(entry.stamp) at \(entry.at), behind a newer one")
                }
            }
        }
        if evidence.repeatsForgotten > 0 {
            verdict.add(.doubled, "\(evidence.repeatsForgotten) pushes that came twice cannot be looked at any more")
        }
    }

    /// Either the first of the two was, or whether it had been sent.
    private func isInDoubt(_ entry: ChaosEvidence.RepeatSight) -> Bool {
        doubts.contains { $0.meets(Double(entry.since), Double(entry.at) + 1) }
    }

    /// By token: when it was registered although it had been already. It says no version, so it is brought to the newest.
    private var registeredAgain: [String: [Doubt]] {
        var times: [String: [Doubt]] = [:]
        for phone in books.flatMap(\.phones) {
            var seen: Set<String> = []
            for report in phone.reports {
                if !seen.insert(report.token).inserted || report.attempts > 1 {
                    times[report.token, default: []].append(Doubt(begin: report.begin - 1, end: report.end + 2))
                }
            }
        }
        return times
    }

    /// By token: when it took the place of its phone's last one.
    private var rotations: [String: [Doubt]] {
        let reports = books.flatMap(\.phones).flatMap { $0.reports.dropFirst() }
        return Dictionary(grouping: reports, by: \.token).mapValues { reports in
            reports.map { Doubt(begin: $0.begin, end: $0.end) }
        }
    }

    /// By token.
    private var registrations: [String: [Doubt]] {
        let reports = books.flatMap(\.phones).flatMap(\.reports)
        return Dictionary(grouping: reports, by: \.token).mapValues { reports in
            reports.map { Doubt(begin: $0.begin - 1, end: $0.end + 2) }
        }
    }

    private var names: [String: String] {
        var names: [String: String] = [:]
        for book in books {
            for phone in book.phones {
                for token in phone.tokens {
                    let times = phone.reports.map { "\($0.token == token ? "" : "other ")\($0.begin)–\($0.end)" }
                    names[token] = "\(book.match) \(phone.activity) \(times.joined(separator: " "))"
                }
            }
        }
        return names
    }

    private mutating func checkDropped() {
        let sights = Array(evidence.phones.values) + evidence.groups.values.flatMap { $0 }
        for sight in sights {
            let name = sight.token.map { "token \($0.prefix(8))…" } ?? "channel \(sight.channel ?? "?")"
            if sight.dropped.undecodable > 0 { verdict.add(.lost, "\(name) got what it cannot decode") }
            if sight.dropped.budget > 0 {
                verdict.add(.lost, "\(name) dropped \(sight.dropped.budget) pushes over its budget")
            }
            if sight.starts.contains(where: { $0.count > 1 }) { verdict.add(.doubled, "\(name) was started twice") }
        }
    }
}
