internal import Core
internal import Executables

/// Phones that come, take new tokens, change their setting, are taken from APNs and come back, and leave.
extension MatchPlay {
    /// Registers the first phones, half of them in one call, then lets things happen to them.
    func live(until end: ContinuousClock.Instant) async {
        await registerFirst()
        await withDiscardingTaskGroup { group in
            while ContinuousClock.now < end, !Task.isCancelled {
                // A service that is away must not make calls pile up.
                if busy.count < 20 {
                    let what = phoneDice.number(in: 0...99)
                    let chosen = phoneDice.number(in: 0...max(0, book.phones.count - 1))
                    group.addTask { await self.happen(what, to: chosen) }
                }
                let pause = Duration.milliseconds(phoneDice.number(in: 50...500))
                try? await Task.sleep(until: min(end, .now + pause), clock: .continuous)
            }
        }
    }

    private func happen(_ what: Int, to index: Int) async {
        let isFrequent = phoneDice.chance(50)
        guard what >= 25, index < book.phones.count else { return await register(isFrequent: isFrequent) }
        guard busy.insert(index).inserted else { return }
        defer { busy.remove(index) }
        let phone = book.phones[index]
        guard let token = phone.tokens.last, phone.since != nil else { return }
        if phone.life == .gone {
            // Back with another token, or with the same one, which APNs takes again.
            if phoneDice.chance(50) {
                await scripted.forgive(token)
                await revive(index, token, isFrequent)
            } else {
                await revive(index, await newToken(), isFrequent)
            }
            return
        }
        switch what {
        case 25..<50:
            counts.rotated += 1
            await report(index, await newToken(), isFrequent: isFrequent)
        case 50..<75:
            counts.cadences += 1
            await report(index, token, isFrequent: isFrequent)
        case 75..<82:
            counts.refused += 1
            book.phones[index].life = .gone
            await scripted.refuse(token, what % 3 == 0 ? .badDeviceToken : .unregistered)
        case 82..<87:
            counts.left += 1
            book.phones[index].life = .gone
            _ = await client.call("DELETE", path("activities/\(phone.activity)"), by: giveUp)
        default:
            counts.repeated += 1
            await report(index, token, isFrequent: isFrequent)
        }
    }

    private func revive(_ index: Int, _ token: String, _ isFrequent: Bool) async {
        counts.revived += 1
        book.phones[index].since = nil
        await report(index, token, isFrequent: isFrequent)
        if book.phones[index].since != nil { book.phones[index].life = .live }
    }

    // MARK: - Calls

    /// A phone that was not there before.
    func register(isFrequent: Bool) async {
        counts.registered += 1
        let index = addPhone()
        busy.insert(index)
        defer { busy.remove(index) }
        // It may say what it shows: what its app has just read.
        let shown = phoneDice.chance(20) ? book.events.compactMap(\.version).max() : nil
        await modelled([book.phones[index].tokens[0]])
        await report(index, book.phones[index].tokens[0], isFrequent: isFrequent, shown: shown)
    }

    private func addPhone() -> Int {
        book.phones.append(PhoneBook(activity: "a-\(book.phones.count)", tokens: [phoneDice.token()]))
        return book.phones.count - 1
    }

    private func newToken() async -> String {
        let token = phoneDice.token()
        await modelled([token])
        return token
    }

    private struct Registered: Decodable {
        let version: Int
        let behind: Bool
    }

    private func report(_ index: Int, _ token: String, isFrequent: Bool, shown: Int? = nil) async {
        let activity = book.phones[index].activity
        var body: [(String, JSONOutput)] = [
            ("token", .string(token)), ("environment", .string(app.environment)),
            ("frequent_pushes_enabled", .bool(isFrequent)),
        ]
        if let shown { body.append(("version", .int(shown))) }
        let bytes = (.object(body) as JSONOutput).bytes
        let begin = Self.now
        let call = await client.call("PUT", path("activities/\(activity)"), bytes, by: giveUp)
        book.phones[index].reports.append(
            PhoneBook.Report(token: token, begin: begin, end: Self.now, attempts: call?.attempts ?? .max)
        )
        guard let answer = call else {
            // Whether it counts, nobody knows.
            book.phones[index].life = .gone
            complaints.append("\(activity) of \(book.match) could not be registered")
            return
        }
        guard answer.status < 300, let said = answer.decode(Registered.self) else {
            complaints.append("\(activity) of \(book.match) was answered \(answer.status): \(answer.text)")
            return
        }
        note(index, token, version: said.version, isBehind: said.behind)
    }

    private func note(_ index: Int, _ token: String, version: Int, isBehind: Bool) {
        if book.phones[index].tokens.last != token { book.phones[index].tokens.append(token) }
        if book.phones[index].since == nil { book.phones[index].since = Self.now }
        book.phones[index].version = version
        book.phones[index].isBehind = isBehind
    }

    private struct Line: Decodable {
        let activity: String
        let status: String
        let behind: Bool?
    }

    private func registerFirst() async {
        let indices = (0..<phoneCount).map { _ in addPhone() }
        busy.formUnion(indices)
        defer { busy.subtract(indices) }
        counts.registered += phoneCount
        await modelled(indices.map { book.phones[$0].tokens[0] })
        let bulk = indices.prefix(phoneCount / 2)
        let lines = bulk.map { index -> [UInt8] in
            let line: JSONOutput = [
                "activity": .string(book.phones[index].activity), "token": .string(book.phones[index].tokens[0]),
                "environment": .string(app.environment),
                "frequent_pushes_enabled": .bool(phoneDice.chance(50)),
            ]
            return line.bytes + [UInt8(ascii: "\n")]
        }
        let begin = Self.now
        if let answer = await client.call(
            "POST",
            path("activities"),
            Array(lines.joined()),
            type: "application/x-ndjson",
            by: giveUp
        ) {
            for index in bulk {
                book.phones[index].reports.append(
                    PhoneBook.Report(
                        token: book.phones[index].tokens[0],
                        begin: begin,
                        end: Self.now,
                        attempts: answer.attempts
                    )
                )
            }
            let stored = answer.text.split(separator: "\n").compactMap { line in
                ChaosClient.Answer(status: 200, body: Array(line.utf8), attempts: 1).decode(Line.self)
            }
            for (index, line) in zip(bulk, stored) where line.status == "stored" {
                note(index, book.phones[index].tokens[0], version: 0, isBehind: line.behind ?? true)
            }
            let missing = bulk.count - stored.count { $0.status == "stored" }
            if missing > 0 { complaints.append("\(missing) of \(bulk.count) lines of \(book.match) were not stored") }
        }
        let choices = indices.dropFirst(phoneCount / 2).map { ($0, phoneDice.chance(50)) }
        await withDiscardingTaskGroup { group in
            for (index, isFrequent) in choices {
                group.addTask {
                    await self.report(index, await self.book.phones[index].tokens[0], isFrequent: isFrequent)
                }
            }
        }
    }

    // MARK: - Channels

    private struct Channel: Decodable { let channel_id: String }

    /// Two groups as soon as the channel is open, and one in the middle of the match.
    func follow(_ cadence: String, until end: ContinuousClock.Instant) async {
        let begin = ContinuousClock.now
        let isFrequent = cadence == "frequent"
        let asked = path("channel?environment=\(app.environment)&frequent_pushes_enabled=\(isFrequent)")
        var channel: String?
        while channel == nil, ContinuousClock.now < giveUp, !Task.isCancelled {
            let answer = await client.call("GET", asked, by: giveUp)
            channel = answer.flatMap { $0.status == 200 ? $0.decode(Channel.self)?.channel_id : nil }
            if channel == nil { try? await Task.sleep(for: .milliseconds(200)) }
        }
        guard let channel else { return complaints.append("\(book.match) has no channel (\(cadence))") }
        for count in [300, 200] { await subscribe(count, to: channel) }
        let middle = begin + (end - begin) / 2
        try? await Task.sleep(until: middle, clock: .continuous)
        await subscribe(100, to: channel)
    }

    private func subscribe(_ count: Int, to channel: String) async {
        let version = book.events.compactMap(\.version).max() ?? 0
        do throws(Failure) {
            try await simulator.register(
                [["channel": .string(channel), "count": .int(count)]],
                in: app.environment,
                decoding: ChaosStage.contract,
                urgentPerHour: app.phoneBudget
            )
            book.groups.append(GroupBook(channel: channel, count: count, since: Self.now, lateVersion: version))
        } catch {
            complaints.append("the simulator took no phones on a channel: \(error.message)")
        }
    }

    /// Tells the simulator what these phones decode, before a push can reach them.
    func modelled(_ tokens: [String]) async {
        do throws(Failure) {
            try await simulator.register(
                tokens.map { ["token": .string($0)] },
                in: app.environment,
                decoding: ChaosStage.contract,
                urgentPerHour: app.phoneBudget
            )
        } catch {
            complaints.append("the simulator took no phones: \(error.message)")
        }
    }
}
