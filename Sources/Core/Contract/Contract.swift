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

    /// What phones that decode by `old` could not follow: anything but new optional fields.
    ///
    /// - Parameters:
    ///   - old: What they decode by.
    ///   - path: Where the contract stands in the body: `content_state`.
    /// - Returns: The path of the first field at fault and what is wrong with it: `is gone`; nil: phones go on decoding what
    ///   keeps this contract.
    package func fault(after old: Contract, path: String) -> (field: String, what: String)? {
        Self.fault(fields, old.fields, path)
    }

    private typealias Fault = (field: String, what: String)

    private static func fault(_ new: [ContractField], _ old: [ContractField], _ path: String) -> Fault? {
        for field in old {
            let path = "\(path).\(field.name)"
            guard let kept = new.first(where: { $0.name == field.name }) else { return (path, "is gone") }
            if let fault = fault(kept.type, field.type, path) { return fault }
        }
        let added = new.first { field in !field.type.isOptional && !old.contains { $0.name == field.name } }
        return added.map { ("\(path).\($0.name)", "is new and not optional") }
    }

    private static func fault(_ new: ContractType, _ old: ContractType, _ path: String) -> Fault? {
        switch (new, old) {
        case (.object(let new), .object(let old)): fault(new, old, path)
        case (.list(let new), .list(let old)), (.optional(let new), .optional(let old)): fault(new, old, path)
        case (.date, .date): nil  // phones see the same number either way
        case _ where new == old: nil
        default:
            (
                path,
                old.isOptional == new.isOptional ? "has another type" : "is \(new.isOptional ? "" : "not ")optional now"
            )
        }
    }
}
