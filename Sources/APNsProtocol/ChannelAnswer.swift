import FoundationEssentials

/// What channel management answered.
package enum ChannelAnswer: Hashable, Sendable {
    case created(ChannelID)
    case found(StoragePolicy)
    /// Deleted now, or gone already.
    case deleted
    case listed([ChannelID])
    case limitReached
    /// Anything else, classified as a push's answer would be.
    case failed(Outcome)

    /// Reads the answer to `request`.
    ///
    /// A 201 that lacks its id is `refused`: asking again would make another channel each time. Another success than the
    /// request's own, or one that cannot be read, is something else's answer, and `later`.
    package init(to request: ChannelRequest, status: Int, channelID: String?, body: [UInt8], retryAfter: String? = nil)
    {
        let broken = ChannelAnswer.failed(.later(after: nil, reason: "unreadable answer"))
        switch (request, status) {
        case (.create, 201):
            self =
                channelID.flatMap(ChannelID.init(validating:)).map(ChannelAnswer.created)
                ?? .failed(.refused(status: status, reason: "unreadable answer"))
        case (.read, 200):
            let policy = try? JSONDecoder().decode(Channel.self, from: Data(body)).policy
            self = policy.flatMap(StoragePolicy.init(rawValue:)).map(ChannelAnswer.found) ?? broken
        case (.list, 200):
            let list = try? JSONDecoder().decode(List.self, from: Data(body)).channels
            self = list.map { .listed($0.compactMap(ChannelID.init(validating:))) } ?? broken
        case (.delete, 200), (.delete, 204):
            self = .deleted
        case (.delete, 404) where ErrorAnswer(body).reason == "BadPath":
            self = .deleted
        default:
            if APNsReason(rawValue: ErrorAnswer(body).reason).kind == .channelLimit {
                self = .limitReached
            } else {
                // 200 is a success of pushes only.
                self = status == 200 ? broken : .failed(Outcome(status: status, body: body, retryAfter: retryAfter))
            }
        }
    }

    private struct Channel: Decodable {
        let policy: Int
        enum CodingKeys: String, CodingKey { case policy = "message-storage-policy" }
    }

    private struct List: Decodable {
        let channels: [String]
    }
}
