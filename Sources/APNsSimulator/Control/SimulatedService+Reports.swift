import Crypto
import Glibc

extension SimulatedService {
    var currentCounts: SimulatorCounts {
        var all = counts
        all.add(sink.counts)
        return all.snapshot(providerTokens: verifier.tokensSeen)
    }

    func setFaults(_ rules: [FaultRules.Rule]) { faults.replace(rules) }

    func add(_ credential: SimulatedCredential) { verifier.add(credential) }

    func setBroadcast(_ isEnabled: Bool, _ bundle: String, _ environment: SimulatedEnvironment) {
        channels.setEnabled(isEnabled, bundle, environment)
    }

    func countsJSON() -> [UInt8] {
        let counts = currentCounts
        var json = JSONWriter()
        json.object {
            $0.table("requests", counts.requests)
            $0.table("answers", counts.answers)
            $0.member("connections", counts.connections)
            $0.member("open_connections", counts.openConnections)
            $0.member("provider_tokens", counts.providerTokens)
            $0.member("doubled", counts.doubled)
            $0.member("doubled_ids", counts.doubledIDs)
            $0.member("doubled_stamps", counts.doubledStamps)
            $0.member("reordered", counts.reordered)
            $0.member("ids_forgotten", counts.idsForgotten)
            $0.member("stream_limit_broken", counts.streamLimitBroken)
            $0.member("arrived", counts.arrived)
            $0.table(
                "resets",
                Dictionary(uniqueKeysWithValues: counts.resets.map { (FaultRules.errorName($0), $1) })
            )
            $0.table("unanswered", counts.unanswered)
            $0.member("goaways", counts.goAways)
            $0.member("silences", counts.silences)
            $0.member("mutes", counts.mutes)
            $0.member("closes", counts.closes)
            $0.member("tcp_resets", counts.tcpResets)
            $0.member("refused_connections", counts.refusedConnections)
            $0.member("tls_failures", counts.tlsFailures)
        }
        return json.bytes
    }

    /// How often each rule has acted, in the rules' order.
    func faultUse() -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.name("rules")
            object.array { array in
                for used in faults.uses { array.object { $0.member("used", used) } }
            }
        }
        return json.bytes
    }

    /// Accepted pushes that repeated something.
    func repeatsJSON(after: Int, limit: Int) -> [UInt8] {
        let page = repeats.page(after: after, limit: limit)
        var json = JSONWriter()
        json.object { object in
            object.name("repeats")
            object.array { array in
                for entry in page.entries {
                    array.object {
                        switch entry.target {
                        case .token(let token): $0.member("token", Hex.encode(token))
                        case .channel(let id): $0.member("channel", id)
                        }
                        $0.member("stamp", entry.stamp)
                        $0.member("kind", entry.kind.rawValue)
                        $0.member("brings_alert", entry.bringsAlert)
                        $0.member("at", entry.at)
                        $0.member("since", entry.since)
                    }
                }
            }
            object.member("count", repeats.count)
            object.optional("next", page.next.map { Int64($0) })
        }
        return json.bytes
    }

    func requestsJSON(last count: Int) -> [UInt8] {
        let entries = log.last(count)
        var json = JSONWriter()
        json.object { object in
            object.name("requests")
            object.array { array in
                for entry in entries { array.object { Self.write(entry, &$0) } }
            }
            object.member("count", log.added)
            object.member("cut", entries.count < log.added)
        }
        return json.bytes
    }

    /// A line for the request file, with what the list of requests leaves out: when, and where.
    static func line(_ entry: RequestLog.Entry, in environment: SimulatedEnvironment) -> [UInt8] {
        var (now, json) = (timespec(), JSONWriter())
        clock_gettime(CLOCK_REALTIME, &now)
        json.object {
            $0.member("at_ms", now.tv_sec * 1000 + now.tv_nsec / 1_000_000)
            $0.member("environment", environment.rawValue)
            write(entry, &$0)
        }
        return json.bytes
    }

    private static func write(_ entry: RequestLog.Entry, _ json: inout JSONWriter) {
        json.member("method", entry.request.method)
        json.member("path", entry.request.path)
        json.name("headers")
        json.object { for (name, value) in entry.request.headersForDisplay { $0.member(name, value) } }
        json.member("body", String(decoding: entry.request.body, as: UTF8.self))
        json.member("status", entry.status)
        if let reason = entry.reason { json.member("reason", reason) }
    }

    func channelsJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.name("channels")
            object.array { array in
                for channel in channels.all {
                    array.object {
                        $0.member("id", channel.id)
                        $0.member("bundle", channel.bundle)
                        $0.member("environment", channel.environment.rawValue)
                        $0.member("storage_policy", channel.storagePolicy)
                    }
                }
            }
        }
        return json.bytes
    }
}

extension JSONWriter {
    /// An object of numbers, its names in order.
    mutating func table(_ name: String, _ values: [String: Int]) {
        self.name(name)
        object { for (name, value) in values.sorted(by: { $0.key < $1.key }) { $0.member(name, value) } }
    }
}
