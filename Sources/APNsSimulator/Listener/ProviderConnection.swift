import EventLoop
import HTTP2

/// The service's end of one connection: passes requests to the service, keeps the stream limit, and does to the connection
/// what fault rules ask for.
final class ProviderConnection: HTTP2ServerHooks {
    let service: SimulatedService
    let endpoint: SimulatorConfiguration.Endpoint
    private var binding = ConnectionBinding()
    private let descriptor: Int32
    private var limit: StreamLimit
    private var pins = 0
    private var badTokens = 0
    /// Streams whose request is complete and not yet answered.
    private var pending: Set<Int32> = []
    /// Streams above are not processed: a GOAWAY says so, or the connection answers nothing any more.
    private var lastProcessed = Int32.max
    private var isSilent = false
    private var isMute = false
    var goAway = GoAwayWatch()

    /// The descriptor is for a reset; it stays the connection's to close.
    init(_ service: SimulatedService, at endpoint: SimulatorConfiguration.Endpoint, descriptor: Int32) {
        self.service = service
        self.descriptor = descriptor
        self.endpoint = endpoint
        limit = StreamLimit(
            initial: service.configuration.initialStreams,
            full: service.configuration.maxConcurrentStreams,
            lowersOnRejection: service.configuration.lowersStreamLimit
        )
    }

    // MARK: - What the connection tells

    func requestReceived(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) {
        let (isSilent, isMute, isProcessed) = (isSilent, isMute, stream <= lastProcessed)
        service.assumeIsolated {
            $0.note { counts in
                counts.arrived += 1
                if isProcessed { return }
                let cause: WritableKeyPath<CountKeeper.Unanswered, Int> =
                    isSilent ? \.silence : isMute ? \.mute : \.goAway
                counts.unanswered[keyPath: cause] += 1
            }
        }
        guard isProcessed else { return }
        let arrived = ArrivedRequest(ProviderRequest(request))
        pending.insert(stream)
        guard !service.faults.isEmpty else {
            pin(nil, of: connection)
            return settle(PendingStep(stream: stream, request: arrived, fault: ScriptedFault()), of: connection)
        }
        let subject = FaultRules.Subject(arrived.fields, at: endpoint.role)
        let (effects, generation) = service.faults.effects(on: subject)
        pin(effects.streamLimit, of: connection)
        let fault = ScriptedFault(
            settling: effects.settling,
            frames: effects.frames,
            dateOffset: effects.dateOffset
        )
        let step = PendingStep(stream: stream, request: arrived, fault: fault)
        if let (rule, fault) = effects.goAway {
            let watched = GoAwayWatch.Rule(number: rule, generation: generation)
            if goAwayTakes(step, delay: effects.delay, fault, watched, of: connection) { return }
        }
        proceed(step, after: effects.delay, of: connection)
    }

    /// More than the largest payload: the answer of ``RequestCheck`` to a body that is too large.
    func requestRefused(
        status: Int,
        excess: HTTP2BodyExcess?,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) {
        let rejection = Rejection(status, status == 413 ? "PayloadTooLarge" : "BadRequest")
        var head = HTTP2HeaderBlock()
        head.append(":status", String(status).utf8)
        head.append("content-type", "application/json".utf8)
        service.assumeIsolated { $0.refusedUnread(rejection) }
        connection.respond(stream: stream, head: head, body: rejection.body)
        announce(limit.answered(rejection, isAuthenticated: false), of: connection)
    }

    func streamClosed(_ stream: Int32, code: UInt32, of connection: isolated HTTP2ServerConnection) {
        guard pending.remove(stream) != nil else { return }
        service.assumeIsolated { $0.note { $0.unanswered.cancelled += 1 } }
    }

    /// A limit that was lowered a moment ago may cross with new streams; the first request, though, has to go alone.
    func streamRefused(_ stream: Int32, acknowledged: Bool, of connection: isolated HTTP2ServerConnection) {
        guard acknowledged || !limit.wasAnswered else { return }
        service.assumeIsolated { $0.streamLimitBroken() }
    }

    func connectionClosed(_ reason: HTTP2ServerCloseReason, of connection: isolated HTTP2ServerConnection) {
        let unanswered = pending.count
        note { $0.unanswered.cancelled += unanswered }
        pending.removeAll()
        goAway = GoAwayWatch()
        service.assumeIsolated { $0.connectionClosed(connection) }
    }

    // MARK: - Answering

    /// Goes on with a request, at once or after a scripted delay.
    func proceed(_ step: PendingStep, after delay: Duration, of connection: isolated HTTP2ServerConnection) {
        guard delay > .zero else { return settle(step, of: connection) }
        // Unsafe because the compiler does not know that the timer runs on the connection's loop.
        nonisolated(unsafe) let provider = self
        connection.loop.schedule(at: .now + delay) { [connection] in
            connection.assumeIsolated { provider.settle(step, of: $0) }
        }
    }

    private func settle(_ step: PendingStep, of connection: isolated HTTP2ServerConnection) {
        guard pending.remove(step.stream) != nil else { return }
        for frame in step.fault.frames { connection.writeRaw(frame.bytes(on: step.stream)) }
        switch step.fault.settling {
        case .reset(let code):
            note { $0.resets[code, default: 0] += 1 }
            connection.reset(stream: step.stream, code: code)
        case .silence: goSilent(losing: 1, of: connection)
        case .mute: goMute(losing: 1)
        case .close, .tcpReset: close(resets: step.fault.settling == .tcpReset, losing: 1, of: connection)
        case .halfAnswer:
            note { $0.unanswered.halfAnswer += 1 }
            let head = HTTP2HeaderBlock([":status": "500", "content-type": "application/json"])
            connection.beginAnswer(stream: step.stream, head: head)
            _ = connection.append(stream: step.stream, Array(#"{"re"#.utf8), isLast: false)
        case .lostAnswer:
            _ = carryOut(step, .none)
            close(resets: false, losing: 1, of: connection)
        case .answer(let rejection): respond(to: step, .answer(rejection), of: connection)
        case .undelivered: respond(to: step, .undelivered, of: connection)
        default: respond(to: step, .none, of: connection)
        }
    }

    /// Takes everything and says nothing from here on.
    private func goSilent(losing more: Int = 0, of connection: isolated HTTP2ServerConnection) {
        isSilent = true
        let unanswered = more + pending.count
        note {
            $0.silences += 1
            $0.unanswered.silence += unanswered
        }
        pending = []
        lastProcessed = 0
        connection.setSilence(.deaf)
    }

    /// Does what HTTP/2 asks for, PINGs and SETTINGS, and answers no request from here on.
    private func goMute(losing more: Int = 0) {
        isMute = true
        let unanswered = more + pending.count
        note {
            $0.mutes += 1
            $0.unanswered.mute += unanswered
        }
        pending = []
        lastProcessed = 0
    }

    private func close(resets: Bool, losing more: Int = 0, of connection: isolated HTTP2ServerConnection) {
        let unanswered = more + pending.count
        note {
            if resets { $0.tcpResets += 1 } else { $0.closes += 1 }
            $0.unanswered.close += unanswered
        }
        pending = []
        if resets { resetWhenClosed(descriptor) }
        connection.close()
    }

    /// Something befalls the connection without a request.
    func disturb(_ action: FaultAction, of connection: isolated HTTP2ServerConnection) {
        switch action {
        case .silence: goSilent(of: connection)
        case .mute: goMute()
        case .goAway(let fault):
            note { $0.goAways += 1 }
            let lastStream = fault.lastStream ?? connection.lastStream
            processNothing(above: lastStream)
            if fault.isInTwoSteps { connection.submitGoAway(lastStream: .max, code: fault.code) }
            connection.submitGoAway(lastStream: lastStream, code: fault.code, debug: Array(fault.debug.utf8))
        default: close(resets: action == .tcpReset, of: connection)
        }
    }

    private func note(_ body: @Sendable (inout CountKeeper) -> Void) {
        service.assumeIsolated { $0.note(body) }
    }

    private func respond(
        to step: PendingStep,
        _ scripted: ScriptedOutcome,
        of connection: isolated HTTP2ServerConnection
    ) {
        let answer = carryOut(step, scripted)
        connection.respond(stream: step.stream, head: answer.head, body: answer.body)
        announce(limit.answered(answer.rejection, isAuthenticated: answer.isAuthenticated), of: connection)
        if answer.rejection?.reason == "BadDeviceToken" { badToken(of: connection) }
    }

    private func carryOut(_ step: PendingStep, _ scripted: ScriptedOutcome) -> ServiceAnswer {
        let (endpoint, bound) = (endpoint, binding)
        let (answer, binding) = service.assumeIsolated { service in
            var binding = bound
            let answer = service.answer(
                step.request,
                at: endpoint,
                scripted: scripted,
                dateOffset: step.fault.dateOffset,
                binding: &binding
            )
            return (answer, binding)
        }
        self.binding = binding
        return answer
    }

    /// From here on, streams above are neither processed nor answered.
    func processNothing(above last: Int32) {
        lastProcessed = min(lastProcessed, last)
        let before = pending.count
        pending = pending.filter { $0 <= last }
        let unanswered = before - pending.count
        note { $0.unanswered.goAway += unanswered }
    }

    // MARK: - Limits

    /// A scripted limit holds as long as its rule matches, or for its time.
    private func pin(_ scripted: (limit: Int, lasting: Duration?)?, of connection: isolated HTTP2ServerConnection) {
        guard let scripted else {
            if limit.pinned != nil, pins == 0 { announce(limit.pin(nil), of: connection) }
            return
        }
        announce(limit.pin(scripted.limit), of: connection)
        guard let time = scripted.lasting else { return pins = 0 }
        pins += 1
        // Unsafe because the compiler does not know that the timer runs on the connection's loop.
        nonisolated(unsafe) let provider = self
        connection.loop.schedule(at: .now + time) { [connection, number = pins] in
            connection.assumeIsolated { connection in
                guard provider.pins == number else { return }
                provider.pins = 0
                provider.announce(provider.limit.pin(nil), of: connection)
            }
        }
    }

    private func announce(_ limit: Int?, of connection: isolated HTTP2ServerConnection) {
        if let limit { connection.submitMaxConcurrentStreams(limit) }
    }

    /// The service disconnects a sender with many bad tokens.
    private func badToken(of connection: isolated HTTP2ServerConnection) {
        badTokens += 1
        guard let most = service.configuration.mostBadTokens, badTokens == most else { return }
        let debug = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
        processNothing(above: connection.lastStream)
        connection.submitGoAway(lastStream: connection.lastStream, code: 0, debug: debug)
    }
}

/// A request that waits for its answer.
struct PendingStep: Sendable {
    let stream: Int32
    let request: ArrivedRequest
    let fault: ScriptedFault
}

extension ProviderRequest {
    /// Reads a header block as it came on the wire. What is not UTF-8 is replaced, and refused by the checks.
    init(_ request: HTTP2ServerRequest) {
        self.init()
        let head = request.head
        for index in 0..<head.count {
            take(
                String(decoding: head.name(at: index), as: UTF8.self),
                String(decoding: head.value(at: index), as: UTF8.self)
            )
        }
        body = request.body
    }
}

extension FaultRules.Subject {
    init(_ request: ProviderRequest, at role: ListenerRole) {
        let route = try? RequestRoute.parse(request.method, request.path, on: role).get()
        switch route {
        case .device(let token): self.init(route: .device, token: token, channel: nil)
        case .broadcast: self.init(route: .broadcast, token: nil, channel: request.channelID)
        case nil where role == .push: self.init(route: nil, token: nil, channel: nil)
        default: self.init(route: .manage, token: nil, channel: request.channelID)
        }
    }
}
