/// What an activity type says about its content state (or its attributes), so that what ActivityKit would drop in
/// silence is refused with a reason.
package struct Contract: Equatable, Sendable {
    package let fields: [ContractField]

    /// Reads a contract.
    ///
    /// - Parameters:
    ///   - json: An object of field names and types.
    ///   - path: Where it stands in the body: `content_state`.
    /// - Throws: `invalid_field` with the path of the type at fault.
    package init(_ json: JSONValue, path: String) throws(Problem) {
        guard case .object(let members) = json.content else {
            throw Problem(.invalidField, "\(path) is \(json.kindName), not an object", field: path)
        }
        fields = try ContractType.fields(members, path: path)
    }

    /// What a value that keeps the contract comes to.
    package struct Verdict: Equatable, Sendable {
        /// The value, with texts of dates converted where the contract says so; else byte for byte as it came.
        package let json: RawJSON
        /// `unknown_key:content_state.scroer`: phones ignore it, and it may be a slip.
        package let warnings: [String]
    }

    /// Checks a value as Swift's default `JSONDecoder` would decode it.
    ///
    /// - Parameters:
    ///   - json: The content state.
    ///   - path: Where it stands in the body: `content_state`.
    /// - Returns: The value to send, and warnings.
    /// - Throws: `contract_violation` with the path of the first key that is missing or mistyped.
    package func check(_ json: JSONValue, path: String) throws(Problem) -> Verdict {
        var checker = ContractChecker(root: json)
        try checker.check(json, .object(fields), path: path)
        return Verdict(json: checker.result, warnings: checker.warnings)
    }

    /// Whether phones that decode by `old` go on decoding what keeps this contract: only optional fields are new, and
    /// nothing else changed.
    package func onlyAddsOptionalFields(to old: Contract) -> Bool { Self.onlyAdds(fields, to: old.fields) }

    private static func onlyAdds(_ new: [ContractField], to old: [ContractField]) -> Bool {
        let kept = old.allSatisfy { field in
            new.contains { $0.name == field.name && isCompatible($0.type, with: field.type) }
        }
        let added = new.filter { field in !old.contains { $0.name == field.name } }
        return kept && added.allSatisfy { $0.type.isOptional }
    }

    private static func isCompatible(_ new: ContractType, with old: ContractType) -> Bool {
        switch (new, old) {
        case (.object(let new), .object(let old)): onlyAdds(new, to: old)
        case (.list(let new), .list(let old)), (.optional(let new), .optional(let old)): isCompatible(new, with: old)
        case (.date, .date): true  // phones see the same number either way
        default: new == old
        }
    }
}
