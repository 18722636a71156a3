internal import Synchronization

/// The header block that many requests share: constant fields, and the names of those that each request fills in.
///
/// Immutable, and good for any connection: what a connection's table makes of it is the encoder's to remember.
package final class HTTP2RequestTemplate: Sendable {
    /// A field with what every connection needs of it.
    struct Field {
        let field: HPACKField
        /// In HPACK's static table; 0 for none.
        let staticPair: Int
        let staticName: Int
        /// The strings as literals, in the shorter form.
        let nameLiteral: [UInt8]
        let valueLiteral: [UInt8]
        /// Whether it may enter the peer's table. A path is seldom seen twice (RFC 7541, 7.1.3).
        let isIndexable: Bool
        /// Whether the value is the same for most requests; else the table takes it once, for the name's sake.
        let isSteady: Bool
        /// Where it is not indexed, nobody on the way may do so.
        let isSecret: Bool

        init(name: String, value: String, isSteady: Bool) {
            field = HPACKField(name: Array(name.utf8), value: Array(value.utf8))
            (staticPair, staticName) = HPACKStaticTable.find(name: name, value: value)
            nameLiteral = HPACKLiteral.string(field.name)
            valueLiteral = HPACKLiteral.string(field.value)
            isIndexable = name != ":path"
            self.isSteady = isSteady
            isSecret = name == "authorization"
        }
    }

    private static let lastNumber = Atomic<Int>(0)

    /// Unlike every other template's of this process.
    let number = HTTP2RequestTemplate.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    /// Pseudo-fields first.
    let constants: [Field]
    /// Pseudo-fields first; their values are empty.
    let varying: [Field]
    let varyingPseudoCount: Int
    /// The response has no body, whatever it says of its length.
    let isHead: Bool
    /// The longest header block, without the varying values.
    let mostBlockBytes: Int

    /// - Parameters:
    ///   - constant: Name and value, pseudo-fields (`:method`, `:scheme`, `:authority`) first, names in lower case.
    ///   - varying: Names that each request gives a value for, at most four; pseudo-fields (`:path`) first.
    ///   - nameOnly: Those of the constant fields whose values the next template will hardly have: they would push out of
    ///     the peer's table what stays, and never be found there.
    package init(
        constant: [(name: String, value: String)],
        varying: [String] = [],
        nameOnly: Set<String> = []
    ) {
        // Pseudo-fields come first (RFC 9113, 8.3); the encoder writes varying ones before the constant ones.
        let isPseudo = { (name: String) in name.hasPrefix(":") }
        constants =
            (constant.filter { isPseudo($0.name) } + constant.filter { !isPseudo($0.name) })
            .map { Field(name: $0.name, value: $0.value, isSteady: !nameOnly.contains($0.name)) }
        self.varying = varying.map { Field(name: $0, value: "", isSteady: false) }
        varyingPseudoCount = varying.count(where: isPseudo)
        isHead = constant.contains { $0.name == ":method" && $0.value == "HEAD" }
        precondition(varying.count <= 4, "\(varying.count) varying fields")
        precondition(
            varying.prefix(varyingPseudoCount).allSatisfy(isPseudo),
            "a varying pseudo-field stands behind another field"
        )
        // A field's index or its name, both strings' lengths; and two limits of the table in front.
        let most = 3 * HPACKLiteral.mostIntegerBytes
        mostBlockBytes =
            (constants + self.varying).reduce(most) { $0 + most + $1.field.name.count + $1.field.value.count }
    }
}
