internal import APNsProtocol
internal import HTTP2

/// Writes pushes as HTTP/2 requests: what a batch shares as a template, the rest into memory that is used again.
struct PushWriter: ~Copyable {
    private let authority: String
    private let scheme: String
    /// The longest path, channel id and push id together.
    private var values = HTTP2FieldValues(capacity: 2048)
    /// What the last template was made of: the pages of a sweep all have the same.
    private struct Shared: Equatable {
        let headers: PushHeaders
        let isBroadcast: Bool
        let providerToken: String
    }

    private var last: (shared: Shared, template: HTTP2RequestTemplate)?

    init(authority: String, scheme: String) {
        self.authority = authority
        self.scheme = scheme
    }

    /// The header block of a batch's requests, for the kind of route that it has.
    mutating func template(for batch: PushBatch, route: PushRoute, providerToken: String) -> HTTP2RequestTemplate {
        let isBroadcast = if case .broadcast = route { true } else { false }
        let shared = Shared(headers: batch.headers, isBroadcast: isBroadcast, providerToken: providerToken)
        if let last, last.shared == shared { return last.template }
        let template = make(shared, route)
        last = (shared, template)
        return template
    }

    private func make(_ parts: Shared, _ route: PushRoute) -> HTTP2RequestTemplate {
        let pseudo = [(name: ":method", value: route.method), (":scheme", scheme), (":authority", authority)]
        // The type of the body is not asked for by APNs, and costs one byte once the peer's table knows it.
        let shared =
            [(name: "authorization", value: "bearer \(parts.providerToken)"), ("content-type", "application/json")]
            + parts.headers.shared
        let varying =
            switch route {
            case .device: [":path", route.idHeader]
            case .broadcast: [":path", route.idHeader, "apns-channel-id"]
            }
        return HTTP2RequestTemplate(constant: pseudo + shared, varying: varying, nameOnly: PushHeaders.varyingNames)
    }

    /// Submits one push.
    ///
    /// - Parameters:
    ///   - recipient: Its route is of the template's kind.
    ///   - template: The batch's header block.
    ///   - body: The batch's payload.
    ///   - connection: Has room for it.
    ///   - deadline: The batch's.
    ///   - witness: Is told before the request's bytes leave, by this number.
    /// - Returns: The request's slot.
    /// - Throws: ``HTTP2Error/notProcessed``; the connection drains.
    mutating func submit(
        _ recipient: Recipient,
        template: HTTP2RequestTemplate,
        body: HTTP2Body,
        on connection: HTTP2ClientConnection,
        deadline: ContinuousClock.Instant,
        witness: (any DepartureWitness, number: Int)? = nil
    ) throws(HTTP2Error) -> Int {
        values.removeAll()
        switch recipient.route {
        case .device(let token):
            values.write("/3/device/")
            values.write(token.text)
        case .broadcast: values.write(recipient.route.path)
        }
        values.finishValue()
        write(recipient.id)
        values.finishValue()
        if case .broadcast(_, let channel) = recipient.route {
            values.write(channel.text)
            values.finishValue()
        }
        return try connection.submit(template, values, body: body, deadline: deadline, witness: witness)
    }

    /// The canonical form, 8-4-4-4-12, without making a text of it.
    private mutating func write(_ id: APNsID) {
        let (high, low) = id.words
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { buffer in
            var place = 0
            for nibble in 0..<32 {
                if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                    buffer[place] = UInt8(ascii: "-")
                    place += 1
                }
                let word = nibble < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (nibble % 16))) & 0xF
                buffer[place] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                place += 1
            }
            values.write(UnsafeBufferPointer(buffer))
        }
    }
}
