/// The alert of an event, turned into `aps.alert`.
package struct EventAlert: Equatable, Sendable {
    /// The most that `"alert":{…}` may take of a payload, in bytes: every size check keeps that room free.
    package static let longestBytes = 1_024

    /// `aps.alert`, an object.
    package let json: RawJSON
    /// How long it may wait for its push, seconds; `nil`: the usual time.
    package let expiresAfter: Int64?

    /// Reads `alert` of an event; `nil` where there is none.
    init?(_ event: ObjectReader, of kind: EventKind, importance: Importance) throws(Problem) {
        guard let value = try event.optionalObject("alert") else { return nil }
        let field = event.place("alert")
        guard kind != .heartbeat else { throw Problem(.invalidField, "a heartbeat brings no alert", field: field) }
        guard importance == .key else {
            throw Problem(
                .invalidField,
                "a routine event cannot bring an alert",
                field: field,
                hint: "Say \"importance\":\"key\" for what a person must see now."
            )
        }
        try self.init(value, path: field)
    }

    /// Reads an alert: `title`, `body`, `sound`, `expires_after`.
    ///
    /// It needs a title and a body that show something. iOS uses a start up on an alert without, and shows nothing.
    package init(_ value: JSONValue, path: String) throws(Problem) {
        let reader = try ObjectReader(value, path: path, names: ["title", "body", "sound", "expires_after"])
        var members: [(String, JSONOutput)] = []
        for name in ["title", "body"] {
            let place = reader.place(name)
            guard let text = reader.present(name) else { throw Self.shows(nothing: place, "is missing") }
            members.append((name, try Self.text(text, path: place)))
        }
        if let sound = reader.present("sound") {
            guard case .string = sound.content else { throw reader.mistyped("sound", sound, "a string") }
            members.append(("sound", .raw(sound.rawJSON)))
        }
        expiresAfter = try reader.optionalInteger("expires_after", in: 1...14_400)
        json = RawJSON(text: String(decoding: JSONOutput.object(members).bytes, as: UTF8.self))
        let size = #""alert":"#.utf8.count + json.bytes.count
        guard size <= Self.longestBytes else {
            throw Problem(
                .payloadTooLarge,
                "\(path) takes \(size) bytes of a payload, \(Self.longestBytes) are the most",
                field: path,
                excess: Problem.SizeExcess(size: size, limit: Self.longestBytes, route: "alert")
            )
        }
    }

    /// A text as it came, or `{"loc_key","loc_args"}` in Apple's spelling.
    private static func text(_ value: JSONValue, path: String) throws(Problem) -> JSONOutput {
        if case .string(let text) = value.content {
            guard isVisible(text) else { throw shows(nothing: path, "is empty") }
            return .raw(value.rawJSON)
        }
        guard case .object = value.content else {
            throw Problem(.invalidField, "\(path) is \(value.kindName), not a text or {\"loc_key\"}", field: path)
        }
        let reader = try ObjectReader(value, path: path, names: ["loc_key", "loc_args"])
        guard isVisible(try reader.string("loc_key")) else { throw shows(nothing: reader.place("loc_key"), "is empty") }
        var members: [(String, JSONOutput)] = [("loc-key", .raw(try reader.required("loc_key").rawJSON))]
        if let arguments = reader.present("loc_args") {
            guard case .array(let texts) = arguments.content else {
                throw reader.mistyped("loc_args", arguments, "a list of texts")
            }
            for (index, text) in texts.enumerated() {
                guard case .string = text.content else {
                    let place = "\(reader.place("loc_args"))[\(index)]"
                    throw Problem(.invalidField, "\(place) is \(text.kindName), not a text", field: place)
                }
            }
            members.append(("loc-args", .raw(arguments.rawJSON)))
        }
        return .object(members)
    }

    /// Whether a text has something to see: more than white space, controls, and what Unicode leaves invisible.
    package static func isVisible(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            let properties = scalar.properties
            switch properties.generalCategory {
            case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: return false
            default: return !properties.isDefaultIgnorableCodePoint && !properties.isWhitespace
            }
        }
    }

    private static func shows(nothing field: String, _ what: String) -> Problem {
        Problem(
            .invalidField,
            "\(field) \(what): an alert needs a title and a body",
            field: field,
            hint: "A text with something to see, or {\"loc_key\",\"loc_args\"}."
        )
    }
}
