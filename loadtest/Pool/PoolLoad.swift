import APNs
import APNsProtocol
internal import Crypto
internal import Executables
import FoundationEssentials

/// What a run sends: routes, ids, payload, all by the seed.
struct PoolLoad: Sendable {
    let payload: [UInt8]
    let tokenHeaders: PushHeaders
    let channelHeaders: PushHeaders
    let deadline: Duration
    private let isOneLane: Bool
    private let idSeed: [UInt8]
    private let tokenSeed: [UInt8]
    private let bundle: BundleID

    init(_ options: PoolOptions) throws(Failure) {
        guard let bundle = BundleID(validating: options.sink.credential?.bundle ?? "") else {
            throw Failure(.wrongUse, "“\(options.sink.credential?.bundle ?? "")” is no bundle id")
        }
        self.bundle = bundle
        let now = Int64(Date().timeIntervalSince1970)
        tokenHeaders = .device(bundle, priority: 5, expiration: now + 3600)
        channelHeaders = .broadcast(priority: 10, expiration: now + 3600)
        payload = Self.payload(bytes: options.payloadBytes, now: now)
        deadline = .seconds(options.deadlineSeconds)
        isOneLane = options.isOneLane
        tokenSeed = SHA256.hash(Array("loadtest tokens \(options.seed)".utf8))
        // Of each run its own: the simulator remembers the ids that it has accepted. The number is added to the last four
        // bytes, by which the simulator knows the order.
        idSeed =
            Array(SHA256.hash(Array("loadtest ids \(options.seed)".utf8) + SecureRandom.bytes(16)).prefix(12))
            + [0, 0, 0, 0]
    }

    /// `count` tokens; no other group has them.
    func tokens(group: Int, count: Int) -> [PushRoute] {
        (0..<count).map { place in
            // 32 bytes as Apple's: a hash's, with the number in it.
            var bytes = tokenSeed
            for shift in 0..<8 {
                bytes[8 + shift] = UInt8(truncatingIfNeeded: group >> (8 * shift))
                bytes[16 + shift] = UInt8(truncatingIfNeeded: place >> (8 * shift))
            }
            guard let token = DeviceToken(validating: Hex.encode(bytes)) else {
                preconditionFailure("64 hexadecimal digits are a token")
            }
            return .device(token)
        }
    }

    /// A channel by its number.
    func channel(_ number: Int) -> PushRoute {
        var bytes = Array(tokenSeed.prefix(16))
        for shift in 0..<8 { bytes[shift] ^= UInt8(truncatingIfNeeded: number >> (8 * shift)) }
        guard let channel = ChannelID(validating: Base64.encode(bytes)) else {
            preconditionFailure("the base64 of 16 bytes is a channel")
        }
        return .broadcast(bundle, channel)
    }

    func batch(_ routes: ArraySlice<PushRoute>, first: Int, tenant: Int, due: ContinuousClock.Instant) -> PushBatch {
        PushBatch(
            lane: LaneKey(environment: .production, role: .push, credential: Self.credential(tenant)),
            urgency: .routine,
            headers: tokenHeaders,
            payload: payload,
            recipients: zip(routes, first...).map { Recipient(route: $0, id: id($1)) },
            deadline: .now + deadline,
            due: due
        )
    }

    func broadcast(_ number: Int, tenant: Int, due: ContinuousClock.Instant) -> PushBatch {
        PushBatch(
            lane: LaneKey(
                environment: .production,
                role: isOneLane ? .push : .broadcast,
                credential: Self.credential(tenant)
            ),
            urgency: .urgent,
            headers: channelHeaders,
            payload: payload,
            recipients: [Recipient(route: channel(number), id: id(number))],
            deadline: .now + deadline,
            due: due
        )
    }

    static func credential(_ tenant: Int) -> CredentialID { CredentialID(Int64(tenant) + 1) }

    private func id(_ number: Int) -> APNsID {
        APNsID(seed: idSeed, index: UInt32(truncatingIfNeeded: number))
    }

    /// A Live Activity update of this size.
    static func payload(bytes: Int, now: Int64) -> [UInt8] {
        let head = #"{"aps":{"timestamp":\#(now),"event":"update","content-state":{"clock":""#
        let tail = #""}}}"#
        return Array(
            (head + String(repeating: "x", count: max(0, bytes - head.utf8.count - tail.utf8.count)) + tail).utf8
        )
    }
}
