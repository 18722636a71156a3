internal import Core

/// One thing that goes wrong, and for how long.
struct ChaosFault: Equatable, Sendable {
    /// What `--faults` takes.
    enum Group: String, CaseIterable, Sendable {
        case service, database, apns
        /// What PostgreSQL stands on: its clock, its disk, a pooler before it.
        case host
    }

    enum Kind: String, CaseIterable, Sendable {
        case kill, stop, hang, drain
        case killAll = "kill_all"
        case databaseKill = "database_kill"
        case databaseRestart = "database_restart"
        case databaseCut = "database_cut"
        case databaseFreeze = "database_freeze"
        case goAway = "goaway"
        case refusedStream = "refused_stream"
        case reset, silence, mute, close
        case noWindow = "no_window"
        case halfAnswer = "half_answer"
        case tcpReset = "tcp_reset"
        case tooMany = "429"
        case internalError = "500"
        case unavailable = "503"
        case shutdown, outage, slow
        case streamLimit = "stream_limit"
        case refuse
        case tlsFailure = "tls_failure"
        case allConnections = "all_connections"
        case lostAnswer = "lost_answer"
        case clockStep = "clock_step"
        case poolerRestart = "pooler_restart"
        case poolerFreeze = "pooler_freeze"
        case diskFull = "disk_full"
    }

    let kind: Kind
    /// From the run's beginning.
    let atMilliseconds: Int
    /// How long it lasts: a service is down or stopped, a rule of the simulator holds.
    let milliseconds: Int
    /// Which service, from 0; of the others' no meaning.
    var service = 0
    /// Of the requests, in percent.
    var share = 0
    /// Chooses between forms of the same fault.
    var form = 0

    var endMilliseconds: Int { atMilliseconds + milliseconds }
}

extension ChaosFault.Kind {
    var group: ChaosFault.Group {
        switch self {
        case .kill, .stop, .hang, .drain, .killAll: .service
        case .databaseKill, .databaseRestart, .databaseCut, .databaseFreeze: .database
        case .goAway, .refusedStream, .reset, .silence, .mute, .close, .noWindow, .halfAnswer, .tcpReset, .tooMany,
            .internalError, .unavailable, .shutdown, .outage, .slow, .streamLimit, .refuse, .tlsFailure,
            .allConnections, .lostAnswer:
            .apns
        case .clockStep, .poolerRestart, .poolerFreeze, .diskFull: .host
        }
    }

    /// Whether it can leave in doubt if a push arrived, so that it may be sent twice.
    ///
    /// An answer that says "later", a stream that was not processed and an orderly end leave no doubt. A request that the
    /// simulator resets or leaves unanswered did not arrive, but what waited behind it on the same connection may have; a mute
    /// connection loses no answer. Leases end by the database's clock: where it jumps ahead, a second process may send what
    /// the first one is sending. What cannot be committed, on a full disk or through a pooler that is gone, is sent again.
    var isDoubtful: Bool {
        switch self {
        case .kill, .killAll, .stop, .hang, .databaseKill, .databaseRestart, .databaseCut, .databaseFreeze, .silence,
            .close, .halfAnswer, .tcpReset, .refuse, .tlsFailure, .allConnections, .lostAnswer, .clockStep,
            .poolerRestart, .poolerFreeze, .diskFull, .noWindow:
            true
        case .drain, .goAway, .refusedStream, .reset, .mute, .tooMany, .internalError, .unavailable, .shutdown, .outage,
            .slow, .streamLimit:
            false
        }
    }

    /// For the line that says what happens.
    var text: String {
        switch self {
        case .kill: "kill -9"
        case .stop: "SIGSTOP past its leases"
        case .hang: "SIGSTOP"
        case .drain: "SIGTERM"
        case .killAll: "all services: kill -9"
        case .databaseKill: "PostgreSQL: kill -9"
        case .databaseRestart: "PostgreSQL: restart"
        case .databaseCut: "PostgreSQL: connections cut"
        case .databaseFreeze: "PostgreSQL: frozen"
        case .goAway: "APNs: GOAWAY"
        case .refusedStream: "APNs: REFUSED_STREAM"
        case .reset: "APNs: streams reset"
        case .silence: "APNs: silence"
        case .mute: "APNs: PINGs answered and nothing else"
        case .noWindow: "APNs: streams without a window"
        case .close: "APNs: connections closed"
        case .halfAnswer: "APNs: half answers"
        case .tcpReset: "APNs: connections reset"
        case .tooMany: "APNs: 429"
        case .internalError: "APNs: 500"
        case .unavailable: "APNs: 503"
        case .shutdown: "APNs: 503 Shutdown"
        case .outage: "APNs: 503 for all"
        case .slow: "APNs: slow answers"
        case .streamLimit: "APNs: one stream at a time"
        case .refuse: "APNs: connections refused"
        case .tlsFailure: "APNs: TLS fails"
        case .allConnections: "APNs: all connections at once"
        case .lostAnswer: "APNs: answers lost"
        case .clockStep: "PostgreSQL's clock"
        case .poolerRestart: "PgBouncer: kill -9"
        case .poolerFreeze: "PgBouncer: frozen"
        case .diskFull: "PostgreSQL's disk is full"
        }
    }
}

extension ChaosFault {
    var text: String {
        switch kind.group {
        case .service where kind != .killAll: "service \(service + 1): \(kind.text)"
        case .apns where share > 0: "\(kind.text), \(share) %"
        case .host where kind == .clockStep:
            "\(kind.text): \(abs(clockSeconds)) s \(clockSeconds > 0 ? "ahead" : "behind")"
        default: kind.text
        }
    }

    /// `01:42  service 2: kill -9, for 3.1 s`.
    var line: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let seconds = atMilliseconds / 1_000
        let length = milliseconds == 0 ? "" : ", for \((Double(milliseconds) / 1_000).text(1)) s"
        return "\(two(seconds / 60)):\(two(seconds % 60))  \(text)\(length)"
    }

    /// By how much PostgreSQL's clock is set ahead or, where it is negative, behind.
    var clockSeconds: Int { [30, 600, -30, -600, -3_900][form % 5] }

    /// What is done to every open connection of the simulator when the fault begins.
    var disturbance: JSONOutput? {
        switch kind {
        case .allConnections:
            switch form % 5 {
            case 0: ["close": true]
            case 1: ["tcp_reset": true]
            case 2: ["silence": true]
            case 3: ["mute": true]
            default: ["goaway": ["debug": "chaos"]]
            }
        // What is opened in place of these has the fault.
        case .refuse, .tlsFailure, .noWindow: ["close": true]
        default: nil
        }
    }

    /// The simulator's rule as long as the fault lasts; nil for faults that are none of APNs'.
    var rule: JSONOutput? {
        guard let action else { return nil }
        var on: [(String, JSONOutput)] = []
        if share > 0 { on.append(("share", .double(Double(share) / 100))) }
        switch kind {
        // A connection that says nothing any more is found out by a PING: a few are enough.
        case .silence, .halfAnswer: on.append(("times", .int(1 + form % 3)))
        // Those stay so for good: a few connections are enough, as many as a service has.
        case .mute, .noWindow: on.append(("times", .int(1 + form % 6)))
        case .slow where form % 3 == 0: on.append(("route", "device"))
        case .tooMany, .internalError, .unavailable, .outage:
            if form % 4 == 0 { on.append(("route", form % 8 == 0 ? "device" : "broadcast")) }
        default: break
        }
        return .object([("on", .object(on)), ("do", action)])
    }

    private var action: JSONOutput? {
        switch kind {
        case .goAway:
            [
                "goaway": form % 2 == 0
                    ? ["after_streams": .int(5 + form % 40), "debug": "chaos"]
                    : ["after_streams": .int(5 + form % 40), "last_stream": .int(1 + 2 * (form % 9)), "debug": "chaos"]
            ]
        case .refusedStream: ["reset": "REFUSED_STREAM"]
        case .reset: ["reset": .string(form % 2 == 0 ? "INTERNAL_ERROR" : "CANCEL")]
        case .silence: ["silence": true]
        case .mute: ["mute": true]
        case .noWindow: ["no_window": true]
        case .close: ["close": true]
        case .halfAnswer: ["half_answer": true]
        case .lostAnswer: ["lost_answer": true]
        case .tcpReset: ["tcp_reset": true]
        case .tooMany: later(429, "TooManyRequests")
        case .internalError: later(500, "InternalServerError")
        case .unavailable, .outage: later(503, "ServiceUnavailable")
        case .shutdown: ["status": 503, "reason": "Shutdown"]
        case .slow: ["delay_ms": .int(100 + form % 1_500), "jitter_ms": .int(form % 400)]
        case .streamLimit: ["stream_limit": 1]
        case .refuse: ["refuse": true]
        case .tlsFailure: ["tls_failure": true]
        case .kill, .stop, .hang, .drain, .killAll, .databaseKill, .databaseRestart, .databaseCut, .databaseFreeze,
            .allConnections, .clockStep, .poolerRestart, .poolerFreeze, .diskFull:
            nil
        }
    }

    /// Always with a time: without one Apple's advice is a quarter of an hour, which no run here waits for.
    private func later(_ status: Int64, _ reason: String) -> JSONOutput {
        ["status": .number(status), "reason": .string(reason), "retry_after": .string(form % 2 == 0 ? "1" : "2")]
    }
}
