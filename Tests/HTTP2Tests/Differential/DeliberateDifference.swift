/// Where our session and nghttp2's differ on purpose, and why.
enum DeliberateDifference: CaseIterable {
    /// RFC 9113, 8.1 calls it a malformed response, which is the stream's error; nghttp2 ends the connection, or takes an
    /// empty frame after an interim response.
    case bodyBeforeItsResponse
    /// RFC 9113, 5.1 wants a stream error; nghttp2 says that it goes further.
    case moreOfAnEndedStream
    /// RFC 9113, 6.9 wants a stream error.
    case streamWindowByZero
    /// RFC 9218, 2.1 allows to end the connection at a later change; we have no use for the value.
    case prioritiesChangedLater
    /// RFC 8441's switch means nothing to a client that does not tunnel.
    case extendedConnect
    /// Nothing in RFC 9113 forbids one too many.
    case acknowledgementOfNothing
    /// A number that no stream of ours can have: what is above it is given back all the same.
    case goAwayWithEvenStream
    /// We have said that we allow none; nghttp2 takes them until that is acknowledged.
    case pushBeforeAcknowledgement

    /// RFC 9113, 6.3; nghttp2 passes over priorities altogether once they are switched off.
    case priorityOfNothing
    /// A request's field, and no harm in a response.
    case teInResponse
    /// RFC 9113, 6.9.2 wants the connection ended by SETTINGS that make a window too large; nghttp2 resets the stream.
    case windowTooLargeBySettings
    /// RFC 9110, 15: a status is 100 to 599.
    case statusBelow100
    /// nghttp2 passes over what comes on a closed stream without a look at its padding.
    case paddingOnClosedStream
    /// nghttp2 holds every frame to the size that it has allowed, but for this one.
    case largeContinuation
    /// Harmless, and no reason to lose an answer: a length in trailers, or of a response that has no body (RFC 9110, 8.6).
    case lengthWithoutUse
    /// RFC 9113, 8.2.1 calls spaces around a value malformed; older software writes them.
    case spacesAroundValue

    func explains(_ step: DivergingStep) -> Bool {
        let frame = step.frame
        switch self {
        case .bodyBeforeItsResponse:
            return
                frame.type == 0 && (step.isMilder || step.isStricter) && step.streamBefore()?.status == 0
        case .moreOfAnEndedStream: return [0, 1, 9].contains(frame.type) && step.isMilder && step.hadEnded
        case .streamWindowByZero: return frame.type == 8 && frame.number == 0 && step.isMilder
        case .prioritiesChangedLater: return frame.type == 4 && step.isIgnored && frame.settings.contains { $0.id == 9 }
        case .extendedConnect: return frame.type == 4 && step.isIgnored && frame.settings.contains { $0.id == 8 }
        case .acknowledgementOfNothing: return frame.type == 4 && frame.flags & 1 == 1 && step.isIgnored
        case .goAwayWithEvenStream: return frame.type == 7 && frame.number & 1 == 0 && step.isIgnored
        case .priorityOfNothing: return frame.type == 2 && frame.stream == 0 && step.own.isOver
        case .teInResponse: return step.isLenient && step.has("te")
        case .windowTooLargeBySettings:
            return frame.type == 4 && step.own.isOver && frame.settings.contains { $0.id == 4 }
        case .statusBelow100: return step.isStricter && step.fields.contains { $0.isStatusBelow100 }
        case .paddingOnClosedStream:
            return frame.type < 2 && frame.flags & 8 != 0 && step.own.isOver && step.streamBefore()?.end != .open
        case .largeContinuation: return frame.type == 9 && frame.isTooLarge && step.own.isOver
        case .lengthWithoutUse: return step.has("content-length") && (step.isLenient || step.isBodiless)
        case .spacesAroundValue: return step.isLenient && step.fields.contains { $0.hasSpacesAround }
        case .pushBeforeAcknowledgement: return frame.type == 5 && step.own.isOver
        }
    }
}

extension HeaderDecoder.Field {
    fileprivate var isStatusBelow100: Bool { name == ":status" && value.hasPrefix("0") }

    fileprivate var hasSpacesAround: Bool {
        let bytes = Array(value.utf8)
        guard let first = bytes.first, let last = bytes.last else { return false }
        return [0x09, 0x20].contains(first) || [0x09, 0x20].contains(last)
    }
}
