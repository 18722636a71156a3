internal import APNsProtocol
internal import Core

/// One push that a person composes: what goes into it, the bytes that come out, and what is wrong with it.
struct HandPush: Sendable {
    var bundle: BundleID
    var environment: APNsEnvironment
    var route: PushRoute
    var composer: PayloadComposer
    var priority: Int
    /// UNIX seconds; 0: try once.
    var expiration: Int64
    var collapseID: CollapseID?
    /// The channel's, where it is known.
    var storagePolicy: StoragePolicy?

    var headers: PushHeaders {
        var headers: PushHeaders =
            switch route {
            case .device: .device(bundle, priority: priority, expiration: expiration)
            case .broadcast: .broadcast(priority: priority, expiration: expiration)
            }
        headers.collapseID = collapseID
        return headers
    }

    /// Attributes and content state together, in bytes.
    var activityDataBytes: Int {
        (composer.contentState?.bytes.count ?? 0) + (composer.start?.attributes.bytes.count ?? 0)
    }

    /// What APNs or the phone would not take, in words; empty: it may go out.
    var faults: [String] {
        var parts: PushCheck.Parts = composer.start == nil ? [] : [.attributes, .attributesType]
        if composer.alert != nil { parts.insert(.alert) }
        let check = PushCheck(
            route: route,
            headers: headers,
            payloadBytes: composer.compose().count,
            activityDataBytes: activityDataBytes,
            event: composer.event,
            parts: parts,
            storagePolicy: storagePolicy
        )
        var faults = check.faults.map(Self.text)
        // Forgiven by PushCheck on tokens, where the topic's suffix hides it.
        if bundle.text.hasSuffix(".push-type.liveactivity"), case .device = route {
            faults.append(Self.text(.bundleWithSuffix))
        }
        return faults
    }

    /// What may be meant, and mostly is not.
    var notes: [String] {
        var notes: [String] = []
        if let json = composer.contentState, let value = try? JSONScanner.read(Array(json.bytes)) {
            notes += Self.unixTimes(in: value, path: "content-state").map { place, digits in
                "\(place) is \(digits), which reads as UNIX time: if the app's field is a Date, it shows a year beyond "
                    + "2038. See \(Trouble.dates.place)"
            }
        }
        if composer.event != .start, composer.contentState == nil {
            notes.append("there is no content state: the card keeps what it shows")
        }
        return notes
    }

    private static func unixTimes(in value: JSONValue, path: String) -> [(String, String)] {
        switch value.content {
        case .number(let digits):
            guard let number = Double(digits) else { return [] }
            let isTime = (1_300_000_000..<2_200_000_000).contains(number) || (1.3e12..<2.2e12).contains(number)
            return isTime ? [(path, digits)] : []
        case .array(let elements):
            return elements.enumerated().flatMap { unixTimes(in: $1, path: "\(path)[\($0)]") }
        case .object(let members): return members.flatMap { unixTimes(in: $0.value, path: "\(path).\($0.name)") }
        case .null, .bool, .string: return []
        }
    }

    private static func text(_ fault: PushFault) -> String {
        switch fault {
        case .payloadEmpty: "the payload is empty"
        case .payloadTooLarge(let bytes, let limit): "the payload has \(bytes) bytes, and \(limit) are the most here"
        case .activityDataTooLarge(let bytes, let limit):
            "attributes and content state have \(bytes) bytes together, and \(limit) are the most"
        case .startIncomplete(let missing):
            "a start without \(names(missing)) shows nothing, although APNs answers 200: give \(flags(missing))"
        case .startByBroadcast: "a channel cannot carry a start: give --token with the push-to-start token"
        case .priority(let priority): "the priority is \(priority): Live Activities take 5 and 10"
        case .pushType(let type): "the push type is \(type.rawValue), not liveactivity"
        case .expiration(let seconds): "the expiration \(seconds) lies before 1970"
        case .expirationMissing: "a push to a channel needs an expiration"
        case .expirationOnUnstoredChannel:
            "a channel of storage policy 0 takes no expiration but 0: leave --expires-after away"
        case .topicMissing, .topicWithoutSuffix: "the topic does not end in .push-type.liveactivity"
        case .topicOnBroadcast: "a push to a channel has no topic"
        case .bundleWithSuffix:
            "the bundle id has the topic's suffix: write --bundle without .push-type.liveactivity"
        }
    }

    private static func names(_ parts: PushCheck.Parts) -> String {
        let all: [(PushCheck.Parts, String)] = [
            (.alert, "alert"), (.attributes, "attributes"), (.attributesType, "attributes-type"),
        ]
        return all.filter { parts.contains($0.0) }.map(\.1).joined(separator: ", ")
    }

    private static func flags(_ parts: PushCheck.Parts) -> String {
        let all: [(PushCheck.Parts, String)] = [
            (.alert, "--alert-title and --alert-body"), (.attributes, "--attributes"),
            (.attributesType, "--attributes-type"),
        ]
        return all.filter { parts.contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
