import Testing

@testable import loadtest

@Suite("The checker of a chaos run")
struct ChaosCheckerTests {
    /// Two events, the second one a goal with an alert; one phone on a token and a group on a channel have both.
    private var book: MatchBook {
        var book = MatchBook(match: "match-4", number: 4)
        book.events = [event(1, version: 1), event(2, version: 2, title: "Goal 2")]
        var phone = PhoneBook(activity: "a-0", tokens: ["aa"])
        phone.since = 99
        book.phones = [phone]
        book.groups = [GroupBook(channel: "c", count: 100, since: 99, lateVersion: 0)]
        return book
    }

    private var evidence: ChaosEvidence {
        var evidence = ChaosEvidence()
        var match = ChaosEvidence.StoredMatch(version: 2, stamp: 1_002, hasEnded: false)
        match.events = [
            "event-1": .init(kind: "update", status: "accepted", version: 1, sequence: 1),
            "event-2": .init(kind: "update", status: "accepted", version: 2, sequence: 2),
        ]
        evidence.matches = ["match-4": match]
        var sight = ChaosEvidence.PhoneSight()
        sight.shows = .init(home: 2, away: 4)
        sight.stamp = 1_002
        sight.alert_titles = ["Goal 2": 1]
        evidence.phones = ["aa": sight]
        evidence.groups = ["c": [sight]]
        return evidence
    }

    private func event(_ sequence: Int, version: Int, title: String? = nil, posted: Double? = nil) -> EventBook {
        var event = EventBook(
            id: "event-\(sequence)",
            sequence: sequence,
            kind: .update,
            isKey: title != nil,
            title: title,
            posted: posted ?? 100 + Double(sequence)
        )
        event.answers = [.init(status: "accepted", version: version)]
        return event
    }

    private func fault(_ kind: ChaosFault.Kind, _ begin: Double, _ end: Double) -> FaultRecord {
        FaultRecord(fault: ChaosFault(kind: kind, atMilliseconds: 0, milliseconds: 0), begin: begin, end: end)
    }

    /// The verdict on what is right but for a change.
    private func verdict(
        _ change: (inout MatchBook, inout ChaosEvidence) -> Void = { _, _ in }
    ) -> ChaosVerdict {
        var (book, evidence) = (book, evidence)
        change(&book, &evidence)
        return ChaosChecker.verdict(on: [book], evidence)
    }

    private func counts(_ change: (inout MatchBook, inout ChaosEvidence) -> Void) -> [ChaosVerdict.Kind: Int] {
        verdict(change).counts
    }

    @Test("finds nothing where everything is right")
    func right() {
        let verdict = verdict()
        #expect(verdict.isGood && verdict.problems.isEmpty)
        #expect((verdict.events, verdict.accepted, verdict.phones) == (2, 2, 101))
        #expect((verdict.alertsWanted, verdict.alertsShown) == (101, 101))
    }

    @Test("finds events that were accepted and are not there, or became another version")
    func lostEvents() {
        #expect(counts { _, evidence in evidence.matches["match-4"]?.events["event-1"] = nil } == [.lost: 1])
        #expect(counts { book, _ in book.events[0].answers = [.init(status: "accepted", version: 3)] }[.lost] == 1)
        #expect(counts { book, _ in book.events[0].answers = [] } == [.lost: 1])
        #expect(counts { _, evidence in evidence.matches = [:] } == [.lost: 1])
        #expect(counts { _, evidence in evidence.unsettled = ["a target waits"] } == [.lost: 1])
    }

    @Test("finds answers that contradict each other")
    func answers() {
        #expect(
            counts { book, _ in book.events[1].answers.append(.init(status: "accepted", version: 9)) } == [.misdeed: 1]
        )
        let twice = counts { book, evidence in
            book.events[0] = event(1, version: 2)
            evidence.matches["match-4"]?.events["event-1"] = .init(
                kind: "update",
                status: "accepted",
                version: 2,
                sequence: 1
            )
        }
        #expect(twice[.misdeed] == 1)
    }

    @Test("finds an update that was accepted after a newer one; corrections may be")
    func order() {
        func overtaken(by kind: EventBook.Kind) -> [ChaosVerdict.Kind: Int] {
            counts { book, evidence in
                var late = EventBook(id: "event-0", sequence: 0, kind: kind, isKey: false, title: nil, posted: 103)
                late.answers = [.init(status: "accepted", version: 3)]
                book.events.append(late)
                evidence.matches["match-4"]?.events["event-0"] = .init(
                    kind: kind.rawValue,
                    status: "accepted",
                    version: 3,
                    sequence: 0
                )
                var match = ChaosEvidence.StoredMatch(version: 3, stamp: 1_002, hasEnded: false)
                match.events = evidence.matches["match-4"]?.events ?? [:]
                evidence.matches["match-4"] = match
                evidence.phones["aa"]?.shows = .init(home: 0, away: 4)
                evidence.groups["c"]?[0].shows = .init(home: 0, away: 4)
            }
        }
        #expect(overtaken(by: .update) == [.stale: 1])
        #expect(overtaken(by: .correction) == [:])
    }

    @Test("finds phones that show nothing, an older state, an older stamp, or go on after the end")
    func phones() {
        #expect(counts { _, evidence in evidence.phones["aa"]?.shows = nil } == [.lost: 1])
        #expect(counts { _, evidence in evidence.groups["c"] = [] }[.lost] == 2, "neither state nor alert")
        #expect(counts { _, evidence in evidence.phones["aa"]?.shows = .init(home: 1, away: 4) } == [.stale: 1])
        #expect(counts { _, evidence in evidence.phones["aa"]?.stamp = 1_001 } == [.stale: 1])
        #expect(counts { _, evidence in evidence.groups["c"]?[0].ended = true } == [.stale: 1])
        #expect(counts { _, evidence in evidence.phones["aa"]?.shows = .init(home: 2, away: 5) } == [.misdeed: 1])
    }

    @Test("expects nothing of phones that are gone, or that said they show the last version")
    func excused() {
        let gone = counts { book, evidence in
            book.phones[0].life = .gone
            evidence.phones = [:]
        }
        #expect(gone == [:])
        let knowing = counts { book, evidence in
            book.phones[0].version = 2
            book.phones[0].isBehind = false
            evidence.phones = [:]
        }
        #expect(knowing == [:])
    }

    @Test("looks for an alert on every token that a phone has had, from its registration on")
    func alerts() {
        #expect(counts { _, evidence in evidence.phones["aa"]?.alert_titles = [:] } == [.lost: 1])
        let rotated = counts { book, evidence in
            book.phones[0].tokens.append("bb")
            evidence.phones["bb"] = evidence.phones["aa"]
            evidence.phones["bb"]?.alert_titles = [:]
        }
        #expect(rotated == [:])
        let late = verdict { book, evidence in
            book.phones[0].since = 102.5
            evidence.phones["aa"]?.alert_titles = [:]
        }
        #expect(late.isGood && late.alertsWanted == 100)
    }

    @Test("lets a newer alert or a correction stand for one within its two minutes")
    func replaced() {
        func followed(after seconds: Double, by kind: EventBook.Kind, title: String?) -> ChaosVerdict {
            verdict { book, evidence in
                var next = EventBook(
                    id: "event-3",
                    sequence: 3,
                    kind: kind,
                    isKey: true,
                    title: title,
                    posted: 102 + seconds
                )
                next.answers = [.init(status: "accepted", version: 3)]
                book.events.append(next)
                var match = ChaosEvidence.StoredMatch(version: 3, stamp: 1_002, hasEnded: false)
                match.events = evidence.matches["match-4"]?.events ?? [:]
                match.events["event-3"] = .init(kind: kind.rawValue, status: "accepted", version: 3, sequence: 3)
                evidence.matches["match-4"] = match
                var sight = evidence.phones["aa"] ?? .init()
                sight.shows = .init(home: 3, away: 4)
                sight.alert_titles = title.map { [$0: 1] } ?? [:]
                evidence.phones["aa"] = sight
                evidence.groups["c"] = [sight]
            }
        }
        let replaced = followed(after: 5, by: .update, title: "Goal 3")
        #expect(replaced.isGood && replaced.alertsReplaced == 101)
        #expect(followed(after: 200, by: .update, title: "Goal 3").counts == [.lost: 2])
        let cancelled = followed(after: 5, by: .correction, title: nil)
        #expect(cancelled.isGood && cancelled.alertsCancelled == 101)
        #expect(followed(after: 200, by: .correction, title: nil).counts == [.lost: 2])
    }

    @Test("lets an alert expire when the database's clock is stepped over its two minutes while it is pending")
    func expired() {
        func missed(form: Int, _ begin: Double, _ end: Double) -> ChaosVerdict {
            verdict { _, evidence in
                evidence.phones["aa"]?.alert_titles = [:]
                var step = ChaosFault(kind: .clockStep, atMilliseconds: 0, milliseconds: 0)
                step.form = form
                evidence.faults = [FaultRecord(fault: step, begin: begin, end: end)]
            }
        }
        #expect(missed(form: 1, 105, 110).isGood)
        #expect(missed(form: 1, 105, 110).alertsExpired == 1)
        #expect(missed(form: 4, 99, 105).alertsExpired == 1, "accepted while the clock was behind")
        #expect(missed(form: 0, 105, 110).counts == [.lost: 1], "half a minute is not over two")
        #expect(missed(form: 1, 300, 310).counts == [.lost: 1], "it was not pending any more")
    }

    @Test("takes a push that came twice only where a fault left it in doubt, or the phone registered once more")
    func doubled() {
        func twice(_ faults: [FaultRecord], reports: [PhoneBook.Report] = []) -> ChaosVerdict {
            verdict { book, evidence in
                book.phones[0].reports = reports
                evidence.repeats = [.init(token: "aa", channel: nil, stamp: 1_002, kind: .same, at: 205, since: 200)]
                evidence.faults = faults
            }
        }
        #expect(twice([]).counts == [.doubled: 1])
        #expect(twice([fault(.kill, 202, 203)]).repeatedExplained == 1)
        #expect(twice([fault(.kill, 202, 203)]).isGood)
        #expect(twice([fault(.kill, 150, 160)]).counts == [.doubled: 1])
        #expect(twice([fault(.tooMany, 202, 203)]).counts == [.doubled: 1], "a 429 leaves no doubt")
        #expect(twice([fault(.mute, 202, 203)]).counts == [.doubled: 1], "a mute peer has taken nothing")
        #expect(twice([fault(.clockStep, 202, 203)]).isGood, "leases end by the database's clock")
        #expect(twice([fault(.diskFull, 202, 203)]).isGood, "what was sent could not be written down")
        let first = PhoneBook.Report(token: "aa", begin: 199, end: 201, attempts: 1)
        #expect(twice([], reports: [first]).counts == [.doubled: 1], "the first registration asks for one push")
        #expect(twice([], reports: [first, first]).asked == 1)
        #expect(twice([], reports: [.init(token: "aa", begin: 199, end: 201, attempts: 2)]).isGood)
        // It has another token now, and a push that waited for the phone took it while the phone was still being answered.
        let older = PhoneBook.Report(token: "bb", begin: 100, end: 101, attempts: 1)
        #expect(twice([], reports: [older, first]).asked == 1)
        let earlier = PhoneBook.Report(token: "aa", begin: 190, end: 191, attempts: 1)
        #expect(twice([], reports: [older, earlier]).counts == [.doubled: 1], "it had been answered by then")
    }

    @Test("takes an alert that came twice only where a fault left it in doubt, also on two tokens of a phone")
    func doubledAlerts() {
        func twice(_ faults: [FaultRecord]) -> ChaosVerdict {
            verdict { book, evidence in
                // It registered once more: that asks for the state, not for the alert.
                book.phones[0].reports = [.init(token: "aa", begin: 199, end: 201, attempts: 2)]
                evidence.repeats = [.init(token: "aa", channel: nil, stamp: 1_003, kind: .alert, at: 205, since: 200)]
                evidence.faults = faults
            }
        }
        #expect(twice([]).counts == [.doubled: 1])
        #expect(twice([fault(.outage, 202, 203)]).counts == [.doubled: 1])
        #expect(twice([fault(.silence, 202, 203)]).isGood)

        func onTwoTokens(_ faults: [FaultRecord]) -> ChaosVerdict {
            verdict { book, evidence in
                book.phones[0].tokens.append("bb")
                evidence.phones["bb"] = evidence.phones["aa"]
                evidence.faults = faults
            }
        }
        #expect(onTwoTokens([]).counts == [.doubled: 1])
        #expect(onTwoTokens([fault(.silence, 103, 104)]).alertsDoubledExplained == 1)
    }

    @Test("finds what phones could not read, what was over their budget, starts that came twice, and sums")
    func dropped() {
        #expect(counts { _, evidence in evidence.phones["aa"]?.dropped.undecodable = 1 } == [.lost: 1])
        #expect(counts { _, evidence in evidence.groups["c"]?[0].dropped.budget = 1 } == [.lost: 1])
        #expect(counts { _, evidence in evidence.phones["aa"]?.starts = [.init(count: 2)] } == [.doubled: 1])
        #expect(counts { _, evidence in evidence.sumsOff = ["match-4"] } == [.sums: 1])
    }

    @Test("finds a late alert that is no double: it comes with the state once more")
    func lateAlert() {
        let verdict = verdict { _, evidence in
            evidence.repeats = [
                .init(token: "aa", channel: nil, stamp: 1_002, kind: .same, brings_alert: true, at: 205, since: 200)
            ]
        }
        #expect(verdict.isGood && verdict.alertsAfter == 1 && verdict.repeated == 0)
    }

    @Test("takes a state that came twice, the second time with an alert whose first push was in doubt")
    func alertInDoubt() {
        func twice(_ faults: [FaultRecord]) -> ChaosVerdict {
            verdict { _, evidence in
                evidence.repeats = [
                    .init(token: "aa", channel: nil, stamp: 1_002, kind: .same, at: 205, since: 205),
                    .init(token: "aa", channel: nil, stamp: 1_002, kind: .alert, at: 205, since: 200),
                ]
                evidence.faults = faults
            }
        }
        #expect(twice([]).counts == [.doubled: 2])
        let inDoubt = twice([fault(.silence, 202, 203)])
        #expect(inDoubt.isGood && inDoubt.repeatedExplained == 1 && inDoubt.alertsDoubledExplained == 1)
    }

    @Test("finds starts that did not come, or twice; one in doubt may have come or not")
    func starts() {
        func started(_ count: Int, _ state: String?, hasEnded: Bool = false) -> [ChaosVerdict.Kind: Int] {
            counts { book, evidence in
                book.devices = [DeviceBook(device: "d", token: "dd")]
                evidence.matches["match-4"]?.starts = state.map { ["d": $0] } ?? [:]
                if count > 0 { evidence.phones["dd"] = .init(starts: [.init(count: count)]) }
            }
        }
        #expect(started(1, "accepted") == [:])
        #expect(started(0, "accepted") == [.lost: 1])
        #expect(started(0, "unknown") == [:] && started(1, "unknown") == [:])
        #expect(started(0, nil) == [.lost: 1])
        #expect(started(1, nil) == [.misdeed: 1])
        #expect(started(2, "accepted")[.doubled] ?? 0 > 0)
    }

    @Test("finds a push that came behind a newer one")
    func reordered() {
        let late = ChaosEvidence.RepeatSight(token: "aa", channel: nil, stamp: 900, kind: .older, at: 205, since: 200)
        #expect(counts { _, evidence in evidence.repeats = [late] } == [.reordered: 1])
        let overtaken = verdict { _, evidence in
            evidence.repeats = [late]
            evidence.faults = [fault(.slow, 180, 190)]
        }
        #expect(overtaken.isGood && overtaken.older == 1 && overtaken.olderExplained == 1)
    }
}
