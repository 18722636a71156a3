package import Core

extension JSONOutput {
    /// As text; members stay in the order in which they were given.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// An object of those members that have a value.
    package static func members(_ members: [(name: String, value: JSONOutput?)]) -> JSONOutput {
        .object(members.compactMap { member in member.value.map { (member.name, $0) } })
    }
}
