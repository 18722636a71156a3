internal import APNsProtocol
internal import HTTP2
internal import Log

extension ConnectionEnd {
    /// Ends that come with every long life, by our own wish or by APNs': nothing to find out about.
    fileprivate var isRoutine: Bool {
        switch self {
        case .idle, .age, .streamIDs, .closing: true
        default: false
        }
    }

    /// APNs or we wanted another connection, in good order.
    fileprivate var isOrderly: Bool {
        switch self {
        case .goAway, .replaced, .providerToken: true
        default: false
        }
    }
}

extension Lane {
    /// Says that a connection has ended, unless that is routine.
    ///
    /// - Parameters:
    ///   - cause: As it is counted.
    ///   - error: What the connection says.
    ///   - entry: Nil: it never came about.
    func logEnd(_ cause: ConnectionEnd, _ error: HTTP2Error?, _ entry: LaneConnection?) {
        let log = configuration.log
        let age = entry.map { ContinuousClock.now - $0.openedAt }
        func fields() -> LogFields {
            let endpoint = configuration.endpoints[key.environment, key.role]
            return [
                "cause": cause.rawValue, "host": "\(endpoint.host):\(endpoint.port)",
                "environment": key.environment.rawValue, "lane": "\(key.role)", "reason": error?.description,
                "age_s": age, "taken": entry?.taken, "waiting": queue.count,
            ]
        }
        guard entry != nil else { return log.warning("no connection to APNs came about", fields()) }
        if cause.isRoutine {
            log.debug("a connection to APNs ended", fields())
        } else if cause.isOrderly {
            log.info("a connection to APNs ended", fields())
        } else {
            log.warning("a connection to APNs ended", fields())
        }
    }
}

extension PoolShard {
    func log(answer sentence: String, of place: String) {
        configuration.log.warning("an answer that APNs does not give", ["host": place, "reason": sentence])
    }

    func log(clock sentence: String, _ key: LaneKey) {
        configuration.log.error("a clock is wrong", ["credential": key.credential.number, "reason": sentence])
    }

    func log(_ refusal: ProviderTokenRefusal?, _ key: LaneKey) {
        guard let refusal else { return }
        let reason = refusal == .expired ? "ExpiredProviderToken" : "TooManyProviderTokenUpdates"
        configuration.log.warning(
            "APNs refused a provider token",
            ["credential": key.credential.number, "environment": key.environment.rawValue, "reason": reason],
            limit: 5
        )
    }

    func log(_ error: ProviderTokenError, _ key: LaneKey) {
        let (fields, limit): ((String) -> LogFields, Int) = (
            { ["credential": key.credential.number, "environment": key.environment.rawValue, "reason": $0] }, 5
        )
        switch error {
        case .unusable(let reason):
            configuration.log.error("no provider token can be made: nothing is sent", fields(reason), limit: limit)
        case .unavailable(let reason):
            configuration.log.warning("the provider token cannot be read now", fields(reason), limit: limit)
        }
    }
}
