internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    func putType(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let bundle: BundleID = try call.parameter("bundle")
        let type: AttributesType = try call.parameter("type")
        let body = try call.object("content_state", "attributes")
        let contentState = try body.object("content_state")
        let contract = try Contract(contentState, path: "content_state")
        let attributes = try body.optionalObject("attributes")
        let ofAttributes = try attributes.map { json throws(Problem) in try Contract(json, path: "attributes") }
        let record = TypeRecord(
            bundle: bundle,
            type: type,
            contentState: contentState.rawJSON,
            attributes: attributes?.rawJSON
        )
        let standing = try await store.putType(record, tenant: call.tenant, by: call.deadline) { old, isInUse in
            !isInUse || old.faultOfChange(contract, ofAttributes) == nil
        }
        if let fault = standing?.faultOfChange(contract, ofAttributes) {
            throw Problem(
                .contractInUse,
                "\(fault.field) \(fault.what), and live matches use this type: until they end, its contracts may only "
                    + "add optional fields",
                field: fault.field,
                hint: "Make new fields optional (\"int?\"), or use a type of another name."
            )
        }
        return .json(200, record.json)
    }

    func showType(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let type = try await store.activityType(
            try call.parameter("type"),
            of: try call.parameter("bundle"),
            tenant: call.tenant,
            by: call.deadline
        )
        guard let type else { throw Problem(.notFound, "there is no such type") }
        return .json(200, type.json)
    }

    func listTypes(_ call: Call) async throws -> HTTPResponse {
        let paging = try Paging(call, parts: 1)
        let page = try await store.activityTypes(
            of: try call.parameter("bundle"),
            tenant: call.tenant,
            after: paging.after?[0],
            limit: paging.limit,
            by: call.deadline
        )
        return .page(page, place: { [$0.type.text] }, \.json)
    }
}

extension TypeRecord {
    /// What of the two contracts phones that decode by the old ones could not follow; nil: they follow both.
    fileprivate func faultOfChange(
        _ contract: Contract,
        _ ofAttributes: Contract?
    ) -> (field: String, what: String)? {
        if let known = Contract(stored: contentState),
            let fault = contract.fault(after: known, path: "content_state")
        {
            return fault
        }
        guard let known = attributes.flatMap(Contract.init(stored:)) else { return nil }
        guard let ofAttributes else { return ("attributes", "have no contract any more") }
        return ofAttributes.fault(after: known, path: "attributes")
    }

    fileprivate var json: JSONOutput {
        var members: [(String, JSONOutput)] = [
            ("bundle", .string(bundle.text)), ("type", .string(type.text)), ("content_state", .raw(contentState)),
        ]
        if let attributes { members.append(("attributes", .raw(attributes))) }
        return .object(members)
    }
}

extension Contract {
    /// A contract that was checked when it was stored.
    init?(stored json: RawJSON) {
        guard let value = try? JSONScanner.read(Array(json.bytes)),
            let contract = try? Contract(value, path: "content_state")
        else { return nil }
        self = contract
    }
}
