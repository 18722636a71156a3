/// The header fields of a request or a response: ordered, repeated names kept.
///
/// Names are lower case, as HTTP/2 wants them (RFC 9113, 8.2); what is given in another case is lowered. Pseudo-fields
/// (`:status`, `:path`) never stand here.
package struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    private var names: [String] = []
    private var values: [String] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    package var count: Int { names.count }

    package var isEmpty: Bool { names.isEmpty }

    /// All fields, in the order in which they came.
    package var pairs: [(name: String, value: String)] {
        zip(names, values).map { (name: $0, value: $1) }
    }

    /// Adds a field behind those that are there.
    package mutating func append(_ name: String, _ value: String) {
        names.append(Self.lowered(name))
        values.append(value)
    }

    /// Puts `value` in the place of all fields of this name.
    package mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(name, value)
    }

    /// Takes all fields of this name away.
    package mutating func remove(_ name: String) {
        let name = Self.lowered(name)
        for index in names.indices.reversed() where names[index] == name {
            names.remove(at: index)
            values.remove(at: index)
        }
    }

    /// The first field of this name.
    package subscript(_ name: String) -> String? {
        let name = Self.lowered(name)
        return names.firstIndex(of: name).map { values[$0] }
    }

    /// Every field of this name, in order.
    package func all(_ name: String) -> [String] {
        let name = Self.lowered(name)
        return names.indices.filter { names[$0] == name }.map { values[$0] }
    }

    /// Only ASCII letters change; without one the text is returned as it is.
    private static func lowered(_ name: String) -> String {
        let needsChange = name.utf8.contains { $0 >= 0x41 && $0 <= 0x5A }
        guard needsChange else { return name }
        return String(decoding: name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
