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
        try ControlFields.require(json, only: ["route", "token", "channel", "share", "times", "skip"], path: path)
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
        match.times = try ControlFields.count(json, "times", path: path)
        match.skip = try ControlFields.count(json, "skip", path: path) ?? 0
        return match
    }

    private static func action(_ json: JSONText, path: String) throws(ControlError) -> FaultAction {
        let names = ["status", "reset", "goaway", "delay_ms", "silence", "close", "stream_limit", "undelivered"]
        guard let members = json.members else { throw ControlError("must be an object", field: path) }
        let verbs = members.map(\.name).filter { names.contains($0) }
        guard verbs.count == 1, let verb = verbs.first else {
            throw ControlError("needs exactly one of \(names.joined(separator: ", "))", field: path)
        }
        let allowed = verb == "status" ? ["status", "reason", "retry_after", "timestamp"] : [verb]
        try ControlFields.require(json, only: allowed, path: path)
        switch verb {
        case "status": return .answer(try answer(json, path: path))
        case "reset": return .reset(try errorCode(json, "reset", path: path) ?? 0)
        case "goaway": return .goAway(try goAway(json["goaway"], path: "\(path).goaway"))
        case "delay_ms": return .delay(.milliseconds(try ControlFields.count(json, verb, path: path) ?? 0))
        case "stream_limit": return .streamLimit(try ControlFields.count(json, verb, path: path) ?? 0)
        default:
            guard json[verb]?.bool == true else { throw ControlError("must be true", field: "\(path).\(verb)") }
            return verb == "silence" ? .silence : verb == "close" ? .close : .undelivered
        }
    }

    private static func answer(_ json: JSONText, path: String) throws(ControlError) -> Rejection {
        guard let status = json["status"]?.integer, (300...599).contains(status) else {
            throw ControlError("must be a status from 300 to 599", field: "\(path).status")
        }
        if let timestamp = json["timestamp"], timestamp.integer == nil {
            throw ControlError("must be UNIX milliseconds", field: "\(path).timestamp")
        }
        return Rejection(
            Int(status),
            try ControlFields.string(json, "reason", path: path) ?? "",
            timestampMilliseconds: json["timestamp"]?.integer,
            retryAfter: try ControlFields.text(json, "retry_after", path: path)
        )
    }

    private static func goAway(_ json: JSONText?, path: String) throws(ControlError) -> GoAwayFault {
        guard let json else { throw ControlError("missing", field: path) }
        try ControlFields.require(json, only: ["after_streams", "last_stream", "debug", "code"], path: path)
        let last = try ControlFields.count(json, "last_stream", path: path)
        if let last, last > Int(Int32.max) { throw ControlError("is no stream id", field: "\(path).last_stream") }
        return GoAwayFault(
            afterStreams: max(1, try ControlFields.count(json, "after_streams", path: path) ?? 1),
            // A client's streams are odd: "above 20" is "above 19".
            lastStream: last.map { Int32($0 > 0 && $0 % 2 == 0 ? $0 - 1 : $0) },
            debug: try ControlFields.string(json, "debug", path: path) ?? "",
            code: try errorCode(json, "code", path: path) ?? 0
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

    /// By number.
    private static let errorNames = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]
}
