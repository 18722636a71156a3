extension Problem {
    /// The codes of the API. Programs rely on the raw values.
    package enum Code: String, CaseIterable, Sendable {
        case malformedJSON = "malformed_json"
        case duplicateKey = "duplicate_key"
        case invalidUnicode = "invalid_unicode"
        case badRequest = "bad_request"
        case tenantRequired = "tenant_required"
        case unauthenticated
        case roleNotAllowed = "role_not_allowed"
        case notFound = "not_found"
        case channelPending = "channel_pending"
        case noChannel = "no_channel"
        case methodNotAllowed = "method_not_allowed"
        case eventConflict = "event_conflict"
        case contractInUse = "contract_in_use"
        case conflict
        case payloadTooLarge = "payload_too_large"
        case bodyTooLarge = "body_too_large"
        case unsupportedEncoding = "unsupported_encoding"
        case unknownField = "unknown_field"
        case invalidField = "invalid_field"
        case contractViolation = "contract_violation"
        case futureEvent = "future_event"
        case stampUnit = "stamp_unit"
        case keyNotUsable = "key_not_usable"
        case rateLimited = "rate_limited"
        case internalError = "internal_error"
        case unavailable
    }
}

extension Problem.Code {
    /// The HTTP status that it is answered with.
    package var status: Int {
        switch self {
        case .malformedJSON, .duplicateKey, .invalidUnicode, .badRequest, .tenantRequired: 400
        case .unauthenticated: 401
        case .roleNotAllowed: 403
        case .notFound, .channelPending, .noChannel: 404
        case .methodNotAllowed: 405
        case .eventConflict, .contractInUse, .conflict: 409
        case .payloadTooLarge, .bodyTooLarge: 413
        case .unsupportedEncoding: 415
        case .unknownField, .invalidField, .contractViolation, .futureEvent, .stampUnit, .keyNotUsable: 422
        case .rateLimited: 429
        case .internalError: 500
        case .unavailable: 503
        }
    }

    /// The same for every problem of the code, as RFC 9457 wants it.
    package var title: String {
        switch self {
        case .malformedJSON: "The body is not JSON"
        case .duplicateKey: "A key stands twice in one object"
        case .invalidUnicode: "A text is not valid Unicode"
        case .badRequest: "The request cannot be understood"
        case .tenantRequired: "An operator has to name the tenant"
        case .unauthenticated: "No valid API key"
        case .roleNotAllowed: "The API key's role does not allow this"
        case .notFound: "There is no such thing"
        case .channelPending: "The channel is not open yet"
        case .noChannel: "The match has no such channel"
        case .methodNotAllowed: "The method is not allowed here"
        case .eventConflict: "The event's id was used with another body"
        case .contractInUse: "The contract is in use by live matches"
        case .conflict: "The request contradicts what is there"
        case .payloadTooLarge: "The push would be too big for APNs"
        case .bodyTooLarge: "The body is too big"
        case .unsupportedEncoding: "The body is compressed"
        case .unknownField: "There is no such field"
        case .invalidField: "A field has a value that it cannot have"
        case .contractViolation: "The content state breaks its contract"
        case .futureEvent: "The event lies in the future"
        case .stampUnit: "A time has the wrong unit"
        case .keyNotUsable: "The signing key cannot be used"
        case .rateLimited: "Too many requests"
        case .internalError: "Something went wrong here"
        case .unavailable: "The service cannot answer now"
        }
    }
}
