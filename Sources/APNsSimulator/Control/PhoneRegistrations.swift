/// The body of `POST /_sim/phones`, read and checked.
struct PhoneRegistrations: Sendable {
    enum Phone: Sendable {
        case token([UInt8])
        case channel(String, count: Int)
    }

    let environment: SimulatedEnvironment
    let phones: [Phone]
    /// The contract's text.
    let contract: [UInt8]?
    let urgentPerHour: Int?
    let bundle: String?

    init(_ json: JSONText, text: [UInt8]) throws(ControlError) {
        let known = ["environment", "phones", "content_state", "urgent_per_hour", "bundle"]
        try ControlFields.require(json, only: known, path: "")
        guard let environment = try ControlFields.environment(json) else {
            throw ControlError("missing", field: "environment")
        }
        guard let list = json["phones"] else { throw ControlError("missing", field: "phones") }
        guard let list = list.array else { throw ControlError("must be a list, is \(list.noun)", field: "phones") }
        self.environment = environment
        var phones: [Phone] = []
        phones.reserveCapacity(list.count)
        for (index, phone) in list.enumerated() { phones.append(try Self.phone(phone, index)) }
        self.phones = phones
        contract = json["content_state"].flatMap { $0.isNull ? nil : Array(text[$0.range]) }
        urgentPerHour = try ControlFields.count(json, "urgent_per_hour", path: "")
        bundle = try ControlFields.string(json, "bundle", path: "")
    }

    private static func phone(_ json: JSONText, _ index: Int) throws(ControlError) -> Phone {
        if let members = json.members, members.count == 1, members[0].name == "token" {
            guard let token = members[0].value.string.flatMap({ DeviceTokenText.bytes($0) }) else {
                throw ControlError("must be an even number of hexadecimal digits", field: "phones[\(index)].token")
            }
            return .token(token)
        }
        let path = "phones[\(index)]"
        try ControlFields.require(json, only: ["token", "channel", "count"], path: path)
        guard let channel = try ControlFields.string(json, "channel", path: path), json["token"] == nil else {
            throw ControlError("needs a token, or a channel with a count", field: path)
        }
        let count = try ControlFields.count(json, "count", path: path) ?? 1
        guard count > 0, count <= Int(UInt32.max) else {
            throw ControlError("must be a whole number from 1", field: "\(path).count")
        }
        return .channel(channel, count: count)
    }
}

/// Which phones are shown.
struct PhoneFilter: Sendable {
    let token: [UInt8]?
    let channel: String?
    let limit: Int
    /// The first so many are left out.
    var after = 0
}
