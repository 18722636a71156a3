package import APNsProtocol

/// Reads the members of one object strictly: names that are not expected are refused by name, values by their path.
///
/// A member that is `null` counts as absent, except where a caller asks for ``value(_:)``.
package struct ObjectReader: Sendable {
    private let members: [JSONMember]
    /// In front of every name in a problem's `field`; empty at the top.
    package let path: String

    /// - Parameters:
    ///   - value: Must be an object.
    ///   - path: Where it stands, empty for a whole body.
    ///   - names: All that it may have.
    /// - Throws: `bad_request` for a whole body of another kind, `invalid_field` inside one, `unknown_field`.
    package init(_ value: JSONValue, path: String = "", names: [String]) throws(Problem) {
        guard case .object(let members) = value.content else {
            let problem = path.isEmpty ? Problem.Code.badRequest : .invalidField
            let place = path.isEmpty ? "the body" : path
            throw Problem(problem, "\(place) is \(value.kindName), not an object", field: path.isEmpty ? nil : path)
        }
        self.members = members
        self.path = path
        for member in members where !names.contains(where: { $0.utf8.elementsEqual(member.name.utf8) }) {
            throw Problem(
                .unknownField,
                "there is no field \"\(member.name)\" here",
                field: path.isEmpty ? member.name : "\(path).\(member.name)",
                hint: "Known here: \(names.joined(separator: ", "))."
            )
        }
    }

    /// The path of a member, for problems.
    package func place(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// The member, `null` included.
    package func value(_ name: String) -> JSONValue? { members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value }

    /// The member, unless it is absent or `null`.
    package func present(_ name: String) -> JSONValue? { value(name).flatMap { $0.isNull ? nil : $0 } }

    package func required(_ name: String) throws(Problem) -> JSONValue {
        guard let value = present(name) else {
            throw Problem(.invalidField, "\(place(name)) is missing", field: place(name))
        }
        return value
    }

    package func optionalString(_ name: String) throws(Problem) -> String? {
        guard let value = present(name) else { return nil }
        guard case .string(let text) = value.content else { throw mistyped(name, value, "a string") }
        return text
    }

    package func string(_ name: String) throws(Problem) -> String {
        _ = try required(name)
        guard let text = try optionalString(name) else { throw Problem(.invalidField, "", field: place(name)) }
        return text
    }

    package func optionalBool(_ name: String) throws(Problem) -> Bool? {
        guard let value = present(name) else { return nil }
        guard case .bool(let bool) = value.content else { throw mistyped(name, value, "true or false") }
        return bool
    }

    package func bool(_ name: String) throws(Problem) -> Bool {
        let value = try required(name)
        guard case .bool(let bool) = value.content else { throw mistyped(name, value, "true or false") }
        return bool
    }

    package func optionalInteger(
        _ name: String,
        in range: ClosedRange<Int64> = Int64.min...Int64.max
    ) throws(Problem) -> Int64? {
        guard let value = present(name) else { return nil }
        guard let integer = value.integer else { throw mistyped(name, value, "a whole number") }
        guard range.contains(integer) else {
            let allowed = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            throw Problem(.invalidField, "\(place(name)) is \(integer), not \(allowed)", field: place(name))
        }
        return integer
    }

    package func optionalTime(_ name: String) throws(Problem) -> Timestamp? {
        guard let text = try optionalString(name) else { return nil }
        guard let time = Timestamp(text) else { throw notATime(name) }
        return time
    }

    package func time(_ name: String) throws(Problem) -> Timestamp {
        let text = try string(name)
        guard let time = Timestamp(text) else { throw notATime(name) }
        return time
    }

    /// A text that passes its type's allow-list.
    package func wrapped<Text: WrappedText>(_ name: String, _ type: Text.Type = Text.self) throws(Problem) -> Text {
        try wrap(try string(name), name)
    }

    package func optionalWrapped<Text: WrappedText>(
        _ name: String,
        _ type: Text.Type = Text.self
    ) throws(Problem) -> Text? {
        guard let text = try optionalString(name) else { return nil }
        return try wrap(text, name) as Text
    }

    /// One of an enumeration's raw values.
    package func optionalChoice<Choice>(
        _ name: String,
        _ type: Choice.Type = Choice.self
    ) throws(Problem) -> Choice? where Choice: RawRepresentable<String> & CaseIterable {
        guard let text = try optionalString(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.invalidField, "\(place(name)) is none of \(choices)", field: place(name))
        }
        return choice
    }

    package func choice<Choice>(
        _ name: String,
        _ type: Choice.Type = Choice.self
    ) throws(Problem) -> Choice where Choice: RawRepresentable<String> & CaseIterable {
        _ = try required(name)
        guard let choice: Choice = try optionalChoice(name) else {
            throw Problem(.invalidField, "\(place(name)) is missing", field: place(name))
        }
        return choice
    }

    /// An object, kept as it came.
    package func optionalObject(_ name: String) throws(Problem) -> JSONValue? {
        guard let value = present(name) else { return nil }
        guard case .object = value.content else { throw mistyped(name, value, "an object") }
        return value
    }

    package func object(_ name: String) throws(Problem) -> JSONValue {
        let value = try required(name)
        guard case .object = value.content else { throw mistyped(name, value, "an object") }
        return value
    }

    package func mistyped(_ name: String, _ value: JSONValue, _ wanted: String) -> Problem {
        Problem(.invalidField, "\(place(name)) is \(value.kindName), not \(wanted)", field: place(name))
    }

    private func wrap<Text: WrappedText>(_ text: String, _ name: String) throws(Problem) -> Text {
        guard let wrapped = Text(validating: text) else {
            throw Problem(.invalidField, "\(place(name)) must be \(Text.rule)", field: place(name))
        }
        return wrapped
    }

    private func notATime(_ name: String) -> Problem {
        Problem(
            .invalidField,
            "\(place(name)) is no RFC 3339 time",
            field: place(name),
            hint: "Write it like 2026-07-19T20:46:03Z."
        )
    }
}
