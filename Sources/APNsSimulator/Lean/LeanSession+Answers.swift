// Answers, and what fault rules make of them.
extension LeanSession {
    mutating func requestComplete(_ stream: Int32) {
        tally.arrived += 1
        if isDeaf {
            tally.unanswered.silence += 1
            return end(stream)
        }
        if isMute {
            tally.unanswered.mute += 1
            return end(stream)
        }
        guard sink.faults.isEmpty else { return misbehave(stream) }
        if limit.pinned != nil, pins == 0 { announce(limit.pin(nil)) }
        accept(stream)
    }

    private mutating func accept(_ stream: Int32, dateOffset: Int = 0) {
        tally.accepted += 1
        if let found = streams.found(stream) { tally.pushes.append(found) }
        if hasAnswered, dateOffset == 0 {
            output.success(stream: stream)
        } else {
            // The first answer of a connection has the service's time; for each, a date would be half of what is sent.
            output.frame(
                LeanFrame.headers,
                flags: LeanFrame.endHeaders | LeanFrame.endStream,
                stream: stream,
                LeanFields(status: 200).field("date", sink.date(offset: dateOffset)).bytes
            )
        }
        hasAnswered = true
        end(stream)
        announce(limit.answered(nil, isAuthenticated: true))
    }

    private mutating func misbehave(_ stream: Int32) {
        let (effects, generation) = sink.faults.effects(on: .init(route: .device, token: nil, channel: nil))
        pin(effects.streamLimit)
        if let (rule, fault) = effects.goAway, countToGoAway(stream, (rule, generation), fault) { return }
        let fault = ScriptedFault(
            settling: effects.settling,
            frames: effects.frames,
            dateOffset: effects.dateOffset
        )
        guard effects.delay > .zero else { return settle(stream, fault) }
        streams.set(stream, .waiting)
        wishes.append(.settle(stream: stream, fault: fault, after: effects.delay))
    }

    private mutating func pin(_ scripted: (limit: Int, lasting: Duration?)?) {
        if let scripted {
            announce(limit.pin(scripted.limit))
            guard let time = scripted.lasting else { return pins = 0 }
            pins += 1
            wishes.append(.unpin(number: pins, after: time))
        } else if limit.pinned != nil, pins == 0 {
            announce(limit.pin(nil))
        }
    }

    /// Nothing is held back: streams above the last one that came before the frame have their answers.
    ///
    /// - Returns: Whether this stream is not answered, for it.
    private mutating func countToGoAway(_ stream: Int32, _ rule: (number: Int, generation: Int), _ fault: GoAwayFault)
        -> Bool
    {
        var counted = streamsToGoAway ?? (rule.number, rule.generation, 0)
        if counted.rule != rule.number || counted.generation != rule.generation {
            counted = (rule.number, rule.generation, 0)
        }
        counted.count += 1
        streamsToGoAway = counted
        guard counted.count >= fault.afterStreams, sink.faults.useGoAway(rule.number, generation: rule.generation)
        else { return false }
        streamsToGoAway = nil
        goAway(fault, newest: stream, complete: stream)
        return stream > lastProcessed
    }

    /// The request that brought it, complete already, is not answered either if it is above the last one.
    private mutating func goAway(_ fault: GoAwayFault, newest: Int32, complete: Int32?) {
        sink.note { $0.goAways += 1 }
        if fault.isInTwoSteps { output.goAway(lastStream: .max, code: fault.code, debug: []) }
        lastProcessed = fault.lastStream ?? newest
        output.goAway(lastStream: lastProcessed, code: fault.code, debug: Array(fault.debug.utf8))
        // Streams above that have begun end without an answer.
        for open in streams.all where open > lastProcessed {
            if streams[open] == .receiving, open != complete { tally.arrived += 1 }
            if streams[open] != .answering { tally.unanswered.goAway += 1 }
            flow.drop(open)
            end(open)
        }
        drain()
    }

    /// Something befalls the connection without a request.
    mutating func disturb(_ action: FaultAction) {
        guard state == .open, !isDeaf else { return }
        switch action {
        case .goAway(let fault): goAway(fault, newest: newestStream, complete: nil)
        case .silence:
            sink.note { $0.silences += 1 }
            isDeaf = true
        case .mute:
            sink.note { $0.mutes += 1 }
            isMute = true
        default:
            let resets = action == .tcpReset
            sink.note { if resets { $0.tcpResets += 1 } else { $0.closes += 1 } }
            wishes.append(resets ? .reset : .close)
            state = .over
        }
    }

    /// Answers a stream, or does to it what a rule says.
    mutating func settle(_ stream: Int32, _ fault: ScriptedFault) {
        guard streams[stream] != .none else { return }
        if isDeaf {
            tally.unanswered.silence += 1
            return end(stream)
        }
        if isMute {
            tally.unanswered.mute += 1
            return end(stream)
        }
        for frame in fault.frames { output.raw(frame.bytes(on: stream)) }
        switch fault.settling {
        case .reset(let code):
            sink.note { $0.resets[code, default: 0] += 1 }
            output.reset(stream: stream, code: code)
            end(stream)
        case .silence:
            sink.note { $0.silences += 1 }
            tally.unanswered.silence += 1
            end(stream)
            isDeaf = true
        case .mute:
            sink.note { $0.mutes += 1 }
            tally.unanswered.mute += 1
            end(stream)
            isMute = true
        case .close, .tcpReset, .lostAnswer:
            let resets = fault.settling == .tcpReset
            sink.note { if resets { $0.tcpResets += 1 } else { $0.closes += 1 } }
            tally.unanswered.close += 1
            end(stream)
            wishes.append(resets ? .reset : .close)
            state = .over
        case .halfAnswer:
            tally.unanswered.halfAnswer += 1
            let head = LeanFields(status: 500).field("content-type", "application/json")
            output.frame(LeanFrame.headers, flags: LeanFrame.endHeaders, stream: stream, head.bytes)
            streams.set(stream, .answering)
            send(Array(#"{"re"#.utf8), on: stream, endsStream: false)
        case .answer(let rejection): reject(stream, rejection, fault.dateOffset)
        default: accept(stream, dateOffset: fault.dateOffset)
        }
    }

    private mutating func reject(_ stream: Int32, _ scripted: Rejection, _ dateOffset: Int) {
        let rejection = sink.dated(scripted)
        sink.note { $0.count(rejection) }
        tally.refused += 1
        var head = LeanFields(status: rejection.status)
        head.append("date", sink.date(offset: dateOffset))
        if let id = streams.found(stream)?.id { head.append("apns-id", CanonicalUUID.text(id)) }
        if let retryAfter = rejection.retryAfter { head.append("retry-after", retryAfter) }
        if let seconds = rejection.retryAfterDate {
            head.append("retry-after", sink.date(offset: seconds + dateOffset))
        }
        if rejection.headerBytes > 0 { head.append("x-padding", String(repeating: "x", count: rejection.headerBytes)) }
        let body = rejection.body
        if !body.isEmpty { head.append("content-type", "application/json") }
        head.frames(on: stream, endsStream: body.isEmpty, to: &output)
        hasAnswered = true
        if body.isEmpty {
            end(stream)
        } else {
            streams.set(stream, .answering)
            send(body, on: stream)
        }
        announce(limit.answered(rejection, isAuthenticated: true))
    }
}
