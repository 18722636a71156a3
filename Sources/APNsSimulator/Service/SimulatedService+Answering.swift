import HTTP2

extension SimulatedService {
    /// Checks a request, does what it asks for, and says what to answer.
    ///
    /// - Parameters:
    ///   - request: As it came.
    ///   - endpoint: The listener that it came to.
    ///   - scripted: What a fault rule makes of it if it passes the checks.
    ///   - dateOffset: Seconds that the answer's `date` is off.
    ///   - binding: The connection's, as it is afterwards.
    /// - Returns: The answer. It is counted and logged already.
    func answer(
        _ request: ArrivedRequest,
        at endpoint: SimulatorConfiguration.Endpoint,
        scripted: ScriptedOutcome,
        dateOffset: Int = 0,
        binding: inout ConnectionBinding
    ) -> ServiceAnswer {
        var context = CheckContext(
            request,
            environment: endpoint.environment,
            role: endpoint.role,
            profile: configuration.profile,
            now: now,
            verifier: verifier,
            channels: channels,
            phones: phones(in: endpoint.environment),
            binding: binding
        )
        var rejection = context.firstRejection()
        binding = context.binding
        counts.count(context.route?.kind)
        if rejection == nil, case .answer(let answer) = scripted { rejection = answer.dated(now: context.now) }
        var head = HTTP2HeaderBlock()
        var body: [UInt8] = []
        var status = 200
        if let rejection {
            status = rejection.status
            body = rejection.body
        } else if let route = context.route {
            (status, body, rejection) = perform(route, context, isDelivered: !scripted.isUndelivered, &head)
        }
        if let rejection {
            counts.count(rejection)
            head = rejectionHead(rejection, context, dateOffset)
        } else {
            counts.countSuccess(status)
        }
        // The answer to HEAD has no body, whatever it says of it (RFC 9110, 9.3.2).
        if request.fields.method == "HEAD" { body = [] }
        head.append("date", date(context.now + Int64(dateOffset)).utf8)
        let entry = RequestLog.Entry(arrived: request, status: status, reason: rejection?.reason)
        log.add(entry)
        requestFile?.add(Self.line(entry, in: endpoint.environment))
        return ServiceAnswer(head: head, body: body, rejection: rejection, isAuthenticated: context.token != nil)
    }

    private func perform(
        _ route: RequestRoute,
        _ context: CheckContext,
        isDelivered: Bool,
        _ head: inout HTTP2HeaderBlock
    ) -> (Int, [UInt8], Rejection?) {
        switch route {
        case .device:
            acceptDevicePush(context, isDelivered: isDelivered)
            head.append(":status", "200".utf8)
            appendID(of: context, &head)
            if context.environment == .sandbox { head.append("apns-unique-id", generator.uuid().utf8) }
            return (200, [], nil)
        case .broadcast:
            acceptBroadcast(context, isDelivered: isDelivered)
            head.append(":status", "200".utf8)
            appendID(of: context, &head)
            head.append("apns-unique-id", generator.uuid().utf8)
            return (200, [], nil)
        case .createChannel(let bundle):
            let policy = context.storagePolicy
            guard let channel = channels.create(bundle, context.environment, storagePolicy: policy) else {
                let rejection = Rejection(400, "CannotCreateChannelConfig")
                return (rejection.status, rejection.body, rejection)
            }
            head.append(":status", "201".utf8)
            appendID(of: context, &head)
            head.append("apns-channel-id", channel.id.utf8)
            return (201, [], nil)
        case .readChannel:
            head.append(":status", "200".utf8)
            appendID(of: context, &head)
            head.append("content-type", "application/json".utf8)
            return (200, description(of: context.channel), nil)
        case .deleteChannel(let bundle):
            if let channel = context.channel { _ = channels.delete(channel.id, bundle, context.environment) }
            head.append(":status", "204".utf8)
            appendID(of: context, &head)
            return (204, [], nil)
        case .listChannels(let bundle):
            head.append(":status", "200".utf8)
            appendID(of: context, &head)
            head.append("content-type", "application/json".utf8)
            return (200, list(channels.list(bundle, context.environment)), nil)
        }
    }

    // MARK: - Pushes

    private func acceptDevicePush(_ context: CheckContext, isDelivered: Bool) {
        let request = context.request
        let push = PhonePush(
            payload: payloads.payload(of: request.body),
            isUrgent: request.priority == nil || request.priority == "10"
        )
        let (order, alertBefore) = context.phones.receive(
            push,
            token: context.tokenBytes,
            isDelivered: isDelivered,
            now: context.now
        )
        let target = RepeatLog.Target.token(context.tokenBytes)
        note(order, alertBefore, of: push, target, id: request.messageID, now: context.now)
    }

    private func acceptBroadcast(_ context: CheckContext, isDelivered: Bool) {
        guard let channel = context.channel else { return }
        let request = context.request
        let push = PhonePush(payload: payloads.payload(of: request.body), isUrgent: request.priority == "10")
        let alertBefore = isDelivered ? context.phones.receive(push, on: channel, now: context.now) : nil
        if channel.storagePolicy == 1, let expiration = context.expiration, expiration > context.now {
            let latest = context.now + RequestCheck.longestStorageSeconds
            channel.stored = StoredMessage(push: push, expiresAt: min(expiration, latest))
        }
        let order = push.payload.map { channel.order(of: $0.timestamp, now: context.now) } ?? .newer
        let id = request.requestID ?? request.messageID
        note(order, alertBefore, of: push, .channel(channel.id), id: id, now: context.now)
    }

    private func note(
        _ order: StampOrder,
        _ alertBefore: Int64?,
        of push: PhonePush,
        _ target: RepeatLog.Target,
        id: String?,
        now: Int64
    ) {
        var repeatsStamp = false
        if let stamp = push.payload?.timestamp {
            let bringsAlert = push.payload?.hasAlert == true && alertBefore == nil
            switch order {
            case .newer: break
            case .same(let since):
                repeatsStamp = true
                repeats.add(
                    .init(
                        target: target,
                        stamp: stamp,
                        kind: .same,
                        bringsAlert: bringsAlert,
                        at: now,
                        since: Int64(since)
                    )
                )
            case .older(let since):
                repeats.add(
                    .init(target: target, stamp: stamp, kind: .older, bringsAlert: false, at: now, since: Int64(since))
                )
            }
            if let alertBefore {
                // A stamp is the second of its version, or shortly behind.
                repeats.add(
                    .init(
                        target: target,
                        stamp: stamp,
                        kind: .alert,
                        bringsAlert: false,
                        at: now,
                        since: min(alertBefore, now)
                    )
                )
            }
        }
        let repeatsID = id.flatMap { CanonicalUUID.words($0) }.map { recentIDs.insert($0) } ?? false
        if repeatsID { counts.doubledIDs += 1 }
        if repeatsStamp { counts.doubledStamps += 1 }
        if repeatsID || repeatsStamp { counts.doubled += 1 }
    }

    // MARK: - Heads and bodies

    private func date(_ second: Int64) -> String {
        if newestDate.second != second { newestDate = (second, HTTPDate.text(second)) }
        return newestDate.text
    }

    private func rejectionHead(_ rejection: Rejection, _ context: CheckContext, _ dateOffset: Int) -> HTTP2HeaderBlock {
        var head = HTTP2HeaderBlock()
        head.append(":status", String(rejection.status).utf8)
        appendID(of: context, &head)
        if !rejection.body.isEmpty { head.append("content-type", "application/json".utf8) }
        if let retryAfter = rejection.retryAfter { head.append("retry-after", retryAfter.utf8) }
        if let seconds = rejection.retryAfterDate {
            head.append("retry-after", HTTPDate.text(context.now + Int64(seconds + dateOffset)).utf8)
        }
        if rejection.headerBytes > 0 {
            head.append("x-padding", repeatElement(UInt8(ascii: "x"), count: rejection.headerBytes))
        }
        return head
    }

    /// Every answer has an id: the request's own, or one that is made here. The newer routes call it by another name.
    private func appendID(of context: CheckContext, _ head: inout HTTP2HeaderBlock) {
        let request = context.request
        let isDevice = context.route.map { $0.kind == .device } ?? (context.role == .push)
        let given = isDevice ? request.messageID : request.requestID ?? request.messageID
        let id = given.flatMap { CanonicalUUID.isUUID($0, lowerCaseOnly: false) ? $0 : nil } ?? generator.uuid()
        if isDevice { head.append("apns-id", id.utf8) } else { head.append("apns-request-id", id.utf8) }
    }

    private func description(of channel: Channel?) -> [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.member("message-storage-policy", channel?.storagePolicy ?? 0)
            $0.member("push-type", "LiveActivity")
        }
        return json.bytes
    }

    private func list(_ channels: [Channel]) -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.name("channels")
            object.array { array in for channel in channels { array.string(channel.id) } }
        }
        return json.bytes
    }
}

extension ScriptedOutcome {
    fileprivate var isUndelivered: Bool {
        if case .undelivered = self { return true }
        return false
    }
}
