package import APNsProtocol
package import HTTP2

/// Where one push of a batch goes, and the id that it keeps when it is sent again.
package struct Recipient: Sendable {
    package let route: PushRoute
    package let id: APNsID

    package init(route: PushRoute, id: APNsID) {
        self.route = route
        self.id = id
    }
}

/// Is told what happens to a batch's pushes when it happens; for pushes that must not be sent twice. Their numbers are their
/// places in the batch.
package protocol PushWitness: DepartureWitness {
    /// The push has its outcome.
    func ended(_ index: Int, _ outcome: Outcome)
}

/// One payload for many recipients.
package struct PushBatch: Sendable {
    package let lane: LaneKey
    package let urgency: PushUrgency
    package let headers: PushHeaders
    /// JSON, uncompressed, within the route's limit.
    package let payload: [UInt8]
    package let recipients: [Recipient]
    /// For waiting, sending and the answers together.
    package let deadline: ContinuousClock.Instant
    /// Latencies count from here.
    package let due: ContinuousClock.Instant
    /// Must not be sent twice: so few are under way on one connection at a time that its end leaves few in doubt.
    package let isOnce: Bool
    package let witness: (any PushWitness)?

    package init(
        lane: LaneKey,
        urgency: PushUrgency,
        headers: PushHeaders,
        payload: [UInt8],
        recipients: [Recipient],
        deadline: ContinuousClock.Instant,
        due: ContinuousClock.Instant = .now,
        isOnce: Bool = false,
        witness: (any PushWitness)? = nil
    ) {
        self.lane = lane
        self.urgency = urgency
        self.headers = headers
        self.payload = payload
        self.recipients = recipients
        self.deadline = deadline
        self.due = due
        self.isOnce = isOnce
        self.witness = witness
    }
}

/// One payload for one recipient.
package struct SinglePush: Sendable {
    package let lane: LaneKey
    package let urgency: PushUrgency
    package let headers: PushHeaders
    package let payload: [UInt8]
    package let recipient: Recipient
    package let deadline: ContinuousClock.Instant

    package init(
        lane: LaneKey,
        urgency: PushUrgency,
        headers: PushHeaders,
        payload: [UInt8],
        recipient: Recipient,
        deadline: ContinuousClock.Instant
    ) {
        self.lane = lane
        self.urgency = urgency
        self.headers = headers
        self.payload = payload
        self.recipient = recipient
        self.deadline = deadline
    }

    var batch: PushBatch {
        PushBatch(
            lane: lane,
            urgency: urgency,
            headers: headers,
            payload: payload,
            recipients: [recipient],
            deadline: deadline
        )
    }
}
