import Crypto

extension SimulatedService {
    /// Registers phones, all of them or none.
    ///
    /// - Returns: How many phones there are more, every one of a group counted.
    func addPhones(_ registrations: PhoneRegistrations) throws(ControlError) -> Int {
        let registration = PhoneStore.Registration(
            contract: try registrations.contract.map { text throws(ControlError) in try contract(text) },
            urgentPerHour: registrations.urgentPerHour ?? Phone.defaultUrgentPerHour,
            bundle: registrations.bundle
        )
        var groups: [(Channel, Int)] = []
        for (index, phone) in registrations.phones.enumerated() {
            guard case .channel(let id, let count) = phone else { continue }
            guard let channel = channels.find(id, in: registrations.environment) else {
                let environment = registrations.environment.rawValue
                throw ControlError("no such channel in \(environment)", field: "phones[\(index)].channel")
            }
            groups.append((channel, count))
        }
        let store = phones(in: registrations.environment)
        let now = now
        var added = 0
        for phone in registrations.phones {
            guard case .token(let token) = phone else { continue }
            store.register(token: token, registration, now: now)
            added += 1
        }
        for (channel, count) in groups {
            store.register(count: count, on: channel, registration, now: now)
            added += count
        }
        return added
    }

    func forgetPhones() {
        for environment in SimulatedEnvironment.allCases { phones(in: environment).removeAll() }
    }

    // MARK: - JSON

    func phonesJSON(_ filter: PhoneFilter) -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            var count = 0
            object.name("phones")
            object.array { array in
                forEachPhone(filter) { phone, token, channel in
                    write(phone, token: token, channel: channel, &array)
                    count += 1
                }
            }
            guard filter.token == nil, filter.channel == nil else { return }
            let next = filter.after + count
            object.member("records", phoneRecords)
            object.member("cut", next < phoneRecords)
            object.optional("next", next < phoneRecords ? Int64(next) : nil)
        }
        return json.bytes
    }

    /// How many entries the list of phones has: a group on a channel is one.
    var phoneRecords: Int { SimulatedEnvironment.allCases.reduce(0) { $0 + phones(in: $1).records } }

    /// What stands on how many phones, the most frequent first, and what became of all pushes to them.
    func summary() -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("phones", SimulatedEnvironment.allCases.reduce(0) { $0 + phones(in: $1).count })
            object.name("shows")
            object.array { array in
                for line in summaryLines() {
                    array.object {
                        $0.name("content_state")
                        $0.raw(line.contentState ?? Array("null".utf8))
                        $0.member("ended", line.hasEnded)
                        $0.member("count", line.count)
                    }
                }
            }
            var sums = PhoneSums()
            for environment in SimulatedEnvironment.allCases { phones(in: environment).sum(into: &sums) }
            object.member("pushes", sums.pushes)
            object.member("alerts", sums.alerts)
            object.member("doubled_alerts", sums.doubledAlerts)
            object.member("starts", sums.starts)
            object.member("doubled_starts", sums.doubledStarts)
            object.member("repeated_stamps", sums.repeatedStamps)
            object.name("dropped")
            object.object {
                $0.member("older", sums.older)
                $0.member("after_end", sums.afterEnd)
                $0.member("undecodable", sums.undecodable)
                $0.member("budget", sums.budget)
            }
        }
        return json.bytes
    }

    struct SummaryLine {
        let contentState: [UInt8]?
        let hasEnded: Bool
        let count: Int
    }

    func summaryLines() -> [SummaryLine] {
        var shown: [ObjectIdentifier: ShownTally] = [:]
        for environment in SimulatedEnvironment.allCases { phones(in: environment).tally(into: &shown) }
        var byText: [[UInt8]?: (running: Int, ended: Int)] = [:]  // the same text may have come in several payloads
        for tally in shown.values {
            byText[tally.state?.raw, default: (0, 0)].running += tally.running
            byText[tally.state?.raw, default: (0, 0)].ended += tally.ended
        }
        let lines = byText.flatMap { text, count in
            [
                SummaryLine(contentState: text, hasEnded: false, count: count.running),
                SummaryLine(contentState: text, hasEnded: true, count: count.ended),
            ]
        }
        return lines.filter { $0.count > 0 }.sorted { $0.count > $1.count }
    }

    func forEachPhone(_ filter: PhoneFilter, _ body: (Phone, _ token: String?, _ channel: String?) -> Void) {
        var (left, skipping) = (filter.limit, filter.after)
        for environment in SimulatedEnvironment.allCases {
            let store = phones(in: environment)
            if let token = filter.token {
                if let phone = store.phone(token) { body(phone, Hex.encode(token), nil) }
            } else if let channel = filter.channel {
                for phone in store.groups(on: channel) { body(phone, nil, channel) }
            } else {
                guard left > 0 else { return }
                store.forEach(skipping: skipping) { phone, token, channel in
                    body(phone, token, channel)
                    left -= 1
                    return left > 0
                }
                skipping = max(0, skipping - store.records)
            }
        }
    }

    private func write(_ phone: Phone, token: String?, channel: String?, _ json: inout JSONWriter) {
        json.object {
            if let token { $0.member("token", token) }
            if let channel { $0.member("channel", channel) }
            $0.member("environment", phone.environment.rawValue)
            $0.member("count", phone.count)
            $0.name("shows")
            $0.raw(phone.shows?.raw ?? Array("null".utf8))
            $0.optional("stamp", phone.stamp)
            $0.name("event")
            if let event = phone.event { $0.string(event.name) } else { $0.null() }
            $0.optional("stale_at", phone.staleAt)
            $0.member("ended", phone.hasEnded)
            $0.member("alerts", phone.alerts)
            $0.member("pushes", phone.pushes)
            $0.name("dropped")
            $0.object {
                $0.member("older", phone.dropped.older)
                $0.member("after_end", phone.dropped.afterEnd)
                $0.member("undecodable", phone.dropped.undecodable)
                $0.member("budget", phone.dropped.budget)
            }
            $0.member("repeated", phone.repeated)
            $0.name("alert_stamps")
            $0.object { for alert in phone.alertStamps { $0.member(String(alert.stamp), alert.count) } }
            $0.name("alert_titles")
            $0.object { object in
                let counts = Dictionary(phone.alertStamps.map { ($0.title, $0.count) }, uniquingKeysWith: &+)
                for (title, count) in counts.sorted(by: { $0.key < $1.key }) {
                    object.member(payloads.titles.text(of: title), count)
                }
            }
            $0.name("starts")
            $0.array { array in
                for start in phone.starts {
                    array.object {
                        $0.name("attributes")
                        $0.raw(start.payload.attributes ?? Array("null".utf8))
                        $0.member("count", start.count)
                    }
                }
            }
        }
    }
}

extension JSONWriter {
    /// A number, or null.
    mutating func optional(_ name: String, _ value: Int64?) {
        self.name(name)
        if let value { integer(value) } else { null() }
    }
}
