extension FaultRules {
    /// Reads `{"rules":[{"on":{…},"do":{…}}]}`.
    static func parse(_ json: JSONText) throws(ControlError) -> [Rule] {
        try ControlFields.require(json, only: ["rules"], path: "")
        guard let list = json["rules"]?.array else { throw ControlError("must be a list", field: "rules") }
        var rules: [Rule] = []
        for (index, value) in list.enumerated() {
            let path = "rules[\(index)]"
            try ControlFields.require(value, only: ["on", "do"], path: path)
            guard let action = value["do"] else { throw ControlError("missing", field: "\(path).do") }
            let match = try value["on"].map { on throws(ControlError) in try Self.match(on, path: "\(path).on") }
            rules.append(Rule(match: match ?? Match(), action: try Self.action(action, path: "\(path).do")))
        }
        return rules
    }

    private static func match(_ json: JSONText, path: String) throws(ControlError) -> Match {
        let known = ["route", "token", "channel", "share", "every", "times", "skip", "after_ms", "for_ms"]
        try ControlFields.require(json, only: known, path: path)
        var match = Match()
        if let text = try ControlFields.string(json, "route", path: path) {
            guard let route = Route(rawValue: text) else {
                throw ControlError("must be device, broadcast or manage", field: "\(path).route")
            }
            match.route = route
        }
        match.token = try ControlFields.string(json, "token", path: path)?.lowercased()
        match.channel = try ControlFields.string(json, "channel", path: path)
        if let share = json["share"] {
            guard let value = share.double, (0...1).contains(value) else {
                throw ControlError("must be a number from 0 to 1", field: "\(path).share")
            }
            match.share = value
        }
        match.every = try ControlFields.count(json, "every", path: path)
        if match.every == 0 { throw ControlError("must be a whole number from 1", field: "\(path).every") }
        if match.every != nil, match.share != nil {
            throw ControlError("goes not together with share", field: "\(path).every")
        }
        match.times = try ControlFields.count(json, "times", path: path)
        match.skip = try ControlFields.count(json, "skip", path: path) ?? 0
        match.after = try milliseconds(json, "after_ms", path: path)
        match.lasting = try milliseconds(json, "for_ms", path: path)
        return match
    }

    /// What may stand beside each verb.
    static let verbs: [String: [String]] = [
        "status": ["reason", "retry_after", "retry_after_date", "timestamp", "body_bytes", "header_bytes"],
        "reset": [], "goaway": [], "delay_ms": ["jitter_ms"], "silence": [], "mute": [], "no_window": [],
        "close": [], "tcp_reset": [],
        "stream_limit": ["for_ms"], "undelivered": [], "half_answer": [], "unknown_frame": [], "push_promise": [],
        "lost_answer": [], "date_offset": [], "refuse": [], "tls_failure": [], "settings_delay_ms": [],
    ]

    static func action(_ json: JSONText, path: String) throws(ControlError) -> FaultAction {
        guard let members = json.members else { throw ControlError("must be an object", field: path) }
        let found = members.map(\.name).filter { verbs[$0] != nil }
        guard found.count == 1, let verb = found.first else {
            throw ControlError("needs exactly one of \(verbs.keys.sorted().joined(separator: ", "))", field: path)
        }
        try ControlFields.require(json, only: [verb] + (verbs[verb] ?? []), path: path)
        switch verb {
        case "status": return .answer(try answer(json, path: path))
        case "reset": return .reset(try errorCode(json, "reset", path: path) ?? 0)
        case "goaway": return .goAway(try goAway(json["goaway"], path: "\(path).goaway"))
        case "delay_ms":
            let time = try milliseconds(json, verb, path: path) ?? .zero
            return .delay(time, jitter: try milliseconds(json, "jitter_ms", path: path) ?? .zero)
        case "stream_limit":
            let limit = try ControlFields.count(json, verb, path: path) ?? 0
            return .streamLimit(limit, lasting: try milliseconds(json, "for_ms", path: path))
        case "date_offset":
            guard let seconds = json[verb]?.integer, abs(seconds) < 1 << 31 else {
                throw ControlError("must be a whole number of seconds", field: "\(path).\(verb)")
            }
            return .dateOffset(Int(seconds))
        case "settings_delay_ms": return .settingsDelay(try milliseconds(json, verb, path: path) ?? .zero)
        default:
            guard json[verb]?.bool == true, let action = plain[verb] else {
                throw ControlError("must be true", field: "\(path).\(verb)")
            }
            return action
        }
    }

    /// Those that are simply true.
    private static let plain: [String: FaultAction] = [
        "silence": .silence, "mute": .mute, "no_window": .noWindow, "close": .close,
        "tcp_reset": .tcpReset, "undelivered": .undelivered,
        "half_answer": .halfAnswer, "unknown_frame": .frame(.unknown), "push_promise": .frame(.pushPromise),
        "lost_answer": .lostAnswer, "refuse": .refuse, "tls_failure": .tlsFailure,
    ]

    private static func milliseconds(_ json: JSONText, _ name: String, path: String) throws(ControlError) -> Duration? {
        try ControlFields.count(json, name, path: path).map { .milliseconds($0) }
    }

    private static func answer(_ json: JSONText, path: String) throws(ControlError) -> Rejection {
        guard let status = json["status"]?.integer, (201...999).contains(status) else {
            throw ControlError("must be a status from 201 to 999", field: "\(path).status")
        }
        if let timestamp = json["timestamp"], timestamp.integer == nil {
            throw ControlError("must be UNIX milliseconds", field: "\(path).timestamp")
        }
        var answer = Rejection(
            Int(status),
            try ControlFields.string(json, "reason", path: path) ?? "",
            timestampMilliseconds: json["timestamp"]?.integer,
            retryAfter: try ControlFields.text(json, "retry_after", path: path)
        )
        answer.retryAfterDate = try ControlFields.count(json, "retry_after_date", path: path)
        answer.bodyBytes = try size(json, "body_bytes", most: 16 << 20, path: path)
        answer.headerBytes = try size(json, "header_bytes", most: 60 << 10, path: path)
        return answer
    }

    private static func size(_ json: JSONText, _ name: String, most: Int, path: String) throws(ControlError) -> Int {
        let bytes = try ControlFields.count(json, name, path: path) ?? 0
        guard bytes <= most else { throw ControlError("must be at most \(most)", field: "\(path).\(name)") }
        return bytes
    }

    private static func goAway(_ json: JSONText?, path: String) throws(ControlError) -> GoAwayFault {
        guard let json else { throw ControlError("missing", field: path) }
        try ControlFields.require(
            json,
            only: ["after_streams", "last_stream", "debug", "code", "two_steps"],
            path: path
        )
        let last = try ControlFields.count(json, "last_stream", path: path)
        if let last, last > Int(Int32.max) { throw ControlError("is no stream id", field: "\(path).last_stream") }
        return GoAwayFault(
            afterStreams: max(1, try ControlFields.count(json, "after_streams", path: path) ?? 1),
            // A client's streams are odd: "above 20" is "above 19".
            lastStream: last.map { Int32($0 > 0 && $0 % 2 == 0 ? $0 - 1 : $0) },
            debug: try ControlFields.string(json, "debug", path: path) ?? "",
            code: try errorCode(json, "code", path: path) ?? 0,
            isInTwoSteps: try ControlFields.bool(json, "two_steps", path: path) ?? false
        )
    }

    /// An HTTP/2 error code by its name or number (RFC 9113, 7).
    private static func errorCode(_ json: JSONText, _ name: String, path: String) throws(ControlError) -> UInt32? {
        guard let value = json[name] else { return nil }
        if let number = value.integer, let code = UInt32(exactly: number) { return code }
        guard let text = value.string, let code = errorNames.firstIndex(of: text.uppercased()) else {
            throw ControlError("must be an HTTP/2 error code such as REFUSED_STREAM", field: "\(path).\(name)")
        }
        return UInt32(code)
    }

    /// The name of an HTTP/2 error code, or its number.
    static func errorName(_ code: UInt32) -> String {
        Int(code) < errorNames.count ? errorNames[Int(code)] : String(code)
    }

    /// By number.
    private static let errorNames = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]
}
