extension FeedEvent {
    /// How far ahead of our clock `occurred_at` may lie.
    package static let clockTolerance = Duration.seconds(60)

    /// The names of an event's fields.
    package static let names = [
        "id", "kind", "sequence", "occurred_at", "importance", "content_state", "alert", "stale_after",
        "dismiss_after", "relevance_score", "aps_extra",
    ]

    /// What a body became: the event, and its content state as it was read, for the contract.
    package struct Decoded: Sendable {
        package var event: FeedEvent
        package var contentState: JSONValue?
        /// Only in lines of many events.
        package var match: MatchID?
    }

    /// Reads an event strictly.
    ///
    /// - Parameters:
    ///   - json: The body, or one line of many.
    ///   - now: Our clock, which `occurred_at` may be at most a minute ahead of.
    ///   - namesMatch: Whether the object names its match, as lines of many do.
    /// - Returns: The event beside what its contract has to be checked on.
    /// - Throws: `unknown_field`, `invalid_field`, `future_event`, `stamp_unit`, each with its field.
    package static func decode(
        _ json: JSONValue,
        now: Timestamp,
        namesMatch: Bool = false
    ) throws(Problem) -> Decoded {
        let reader = try ObjectReader(json, names: namesMatch ? names + ["match"] : names)
        var match: MatchID?
        if namesMatch { match = try reader.wrapped("match") }
        let kind = try reader.optionalChoice("kind", EventKind.self) ?? .update
        let contentState = try state(reader, of: kind)
        var event = FeedEvent(
            id: try reader.wrapped("id"),
            kind: kind,
            importance: try importance(reader, of: kind),
            sequence: try sequence(reader),
            occurredAt: try occurredAt(reader, now: now),
            contentState: contentState?.rawJSON,
            staleAfter: try reader.optionalInteger("stale_after", in: 1...86_400),
            dismissAfter: try dismissAfter(reader, of: kind),
            relevanceScore: try relevanceScore(reader),
            apsExtra: try apsExtra(reader)
        )
        if let alert = try EventAlert(reader, of: kind, importance: event.importance) {
            event.alert = alert.json
            event.alertExpiresAfter = alert.expiresAfter
        }
        return Decoded(event: event, contentState: contentState, match: match)
    }

    /// The bytes by which two bodies of one event's id are the same event: all members but `match`, each canonical. Posted
    /// alone or in a line, in whichever order and spelling, an event stays the same; a member that is `null` is absent.
    package static func canonical(_ json: JSONValue) -> [UInt8] {
        guard case .object(let members) = json.content else { return json.canonical }
        var bytes: [UInt8] = []
        JSONValue.appendCanonical(members.filter { $0.name != "match" && !$0.value.isNull }, to: &bytes)
        return bytes
    }

    private static func state(_ reader: ObjectReader, of kind: EventKind) throws(Problem) -> JSONValue? {
        switch kind {
        case .update, .correction:
            return try reader.object("content_state")
        case .end:
            return try reader.optionalObject("content_state")
        case .heartbeat:
            guard reader.present("content_state") == nil else {
                throw Problem(
                    .invalidField,
                    "a heartbeat brings no content state",
                    field: reader.place("content_state"),
                    hint: "Send \"kind\":\"update\" for a new state."
                )
            }
            return nil
        }
    }

    private static func importance(_ reader: ObjectReader, of kind: EventKind) throws(Problem) -> Importance {
        let given = try reader.optionalChoice("importance", Importance.self)
        switch kind {
        case .update: return given ?? .routine
        case .correction, .end: return given ?? .key
        case .heartbeat:
            guard given != .key else {
                throw Problem(.invalidField, "a heartbeat is always routine", field: reader.place("importance"))
            }
            return .routine
        }
    }

    private static func sequence(_ reader: ObjectReader) throws(Problem) -> Int64? {
        guard let sequence = try reader.optionalInteger("sequence") else { return nil }
        guard EventOrder.sequences.contains(sequence) else {
            let field = reader.place("sequence")
            let (lowest, highest) = (EventOrder.sequences.lowerBound, EventOrder.sequences.upperBound)
            throw Problem(
                .invalidField,
                "\(field) is \(sequence), not from \(lowest) to \(highest)",
                field: field,
                hint: "Count from 0 or 1, or send a time in milliseconds: a wrong one would make later events look old."
            )
        }
        return sequence
    }

    private static func occurredAt(_ reader: ObjectReader, now: Timestamp) throws(Problem) -> Timestamp? {
        guard let value = reader.present("occurred_at") else { return nil }
        let field = reader.place("occurred_at")
        let wanted = "Write the time as RFC 3339, like 2026-07-19T20:46:03Z."
        guard case .string(let text) = value.content else {
            let isNumber = if case .number = value.content { true } else { false }
            throw Problem(
                isNumber ? .stampUnit : .invalidField,
                "\(field) is \(value.kindName), not an RFC 3339 time",
                field: field,
                hint: wanted
            )
        }
        guard let time = Timestamp(text) else {
            let isCount = !text.isEmpty && text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E }
            throw Problem(
                isCount ? .stampUnit : .invalidField,
                "\(field) is no RFC 3339 time",
                field: field,
                hint: wanted
            )
        }
        guard time <= now + clockTolerance else {
            throw Problem(
                .futureEvent,
                "\(field) lies \((time - now).components.seconds) s ahead of the service's clock",
                field: field,
                hint:
                    "\(clockTolerance.components.seconds) s are allowed; more would make later events look old."
            )
        }
        return time
    }

    private static func dismissAfter(_ reader: ObjectReader, of kind: EventKind) throws(Problem) -> Int64? {
        let seconds = try reader.optionalInteger("dismiss_after", in: 0...14_400)
        guard seconds == nil || kind == .end else {
            throw Problem(.invalidField, "only an end has dismiss_after", field: reader.place("dismiss_after"))
        }
        return seconds
    }

    private static func relevanceScore(_ reader: ObjectReader) throws(Problem) -> String? {
        guard let value = reader.present("relevance_score") else { return nil }
        guard case .number(let digits) = value.content else {
            throw reader.mistyped("relevance_score", value, "a number")
        }
        guard digits.utf8.count <= 32, let score = Double(digits), score.isFinite else {
            let field = reader.place("relevance_score")
            throw Problem(.invalidField, "\(field) must be a finite number of at most 32 characters", field: field)
        }
        return digits
    }

    private static func apsExtra(_ reader: ObjectReader) throws(Problem) -> RawJSON? {
        guard let value = try reader.optionalObject("aps_extra") else { return nil }
        guard case .object(let members) = value.content else { return nil }
        for member in members where PayloadComposer.ownNames.contains(member.name) {
            throw Problem(
                .invalidField,
                "Touchline sets \"\(member.name)\" itself",
                field: "\(reader.place("aps_extra")).\(member.name)"
            )
        }
        return members.isEmpty ? nil : value.rawJSON
    }
}
