internal import APNsProtocol
internal import Core
internal import HTTP2
internal import Store

extension API {
    /// What became of a match's versions, by kind of target, environment, cadence and version.
    func showDeliveries(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let match = try call.match()
        guard let deliveries = try await store.deliveries(of: match, by: call.deadline) else { throw Self.noSuchMatch }
        let targets = try await store.targetStates(of: match, by: call.deadline)
        return .json(
            200,
            [
                "match": .string(match.match.text), "version": .number(deliveries.version),
                "merged_versions": .number(deliveries.mergedVersions),
                "sends": .array(deliveries.sends.map(\.json)), "sums": .array(deliveries.sums.map(\.json)),
                "targets": .array(targets.map(\.json)),
            ]
        )
    }
}

extension TargetState {
    fileprivate var json: JSONOutput {
        [
            "target": .string(key.kind.rawValue), "environment": .string(key.environment.rawValue),
            "cadence": .string(cadence.rawValue), "shard": .int(key.shard), "reached": .number(reached),
            "due_at": .time(dueAt),
        ]
    }
}

extension Delivery {
    fileprivate var json: JSONOutput {
        [
            "target": .string(place.kind.rawValue), "environment": .string(place.environment.rawValue),
            "cadence": .string(place.cadence.rawValue), "versions": [.number(fromVersion), .number(toVersion)],
            "state": .string(state.rawValue), "wanted": .int(counts.wanted), "accepted": .int(counts.accepted),
            "removed": .int(counts.removed), "refused": .int(counts.refused), "given_up": .int(counts.givenUp),
            "merged": .int(counts.merged), "waiting": .int(waiting), "resent": .int(counts.resent),
            "priority": .int(priority), "downgraded": .int(counts.downgraded),
            "first_push_ms": .number(firstPushMilliseconds), "last_push_ms": .number(lastPushMilliseconds),
            "delayed_ms": .number(heldMilliseconds), "over": .int(over), "behind": .int(behind),
            "behind_since": .time(behindSince), "last_answer": .string(lastAnswer?.text),
            "last_answer_at": .time(lastAnswer?.at),
        ]
    }
}

extension DeliverySum {
    fileprivate var json: JSONOutput {
        [
            "version": .number(version), "target": .string(kind.rawValue), "registered": .int(registered),
            "accepted": .int(accepted), "removed": .int(removed), "refused": .int(refused), "given_up": .int(givenUp),
            "merged": .int(merged), "waiting": .int(waiting), "downgraded": .int(downgraded), "delayed": .int(delayed),
            "over": .int(over), "first_push_ms": .number(firstPushMilliseconds),
            "last_push_ms": .number(lastPushMilliseconds), "adds_up": .bool(addsUp),
        ]
    }
}
