internal import Core
internal import HTTP2
internal import HTTPServer
internal import Log
internal import Store

// What the API says in the log. Paths stand there as their routes: ids in them are the callers' own.
extension API {
    /// Each 5xx, up to so many in 10 s.
    private static let failureLimit = 1_000

    /// After an error was answered: its cause, if it is ours, or that a key was refused.
    ///
    /// - Parameters:
    ///   - error: What a handler threw.
    ///   - status: Its answer's.
    ///   - requestID: Its answer's.
    ///   - route: Nil: nothing is at the path.
    func note(_ error: any Error, answeredBy status: Int, _ requestID: String, _ route: Route?) {
        if status >= 500 { return noteFailure(status, requestID, route, Self.cause(of: error)) }
        guard let problem = error as? Problem, problem.code == .unauthenticated else { return }
        // A flood of guesses must not fill a disk.
        log.warning(
            "an API key was refused",
            ["request_id": requestID, "call": route?.name, "reason": problem.detail],
            limit: 5
        )
    }

    /// The rest of a bulk's lines is refused, each by itself: the answer's status went out before.
    func note(_ error: StoreError, inLinesOf call: Call) {
        let route = try? Self.route(call.request.method, call.target).route
        noteFailure(Problem(error).code.status, call.requestID, route, Self.cause(of: error))
    }

    /// What the HTTP server itself could not answer.
    func note(_ refusal: HTTPRefusal, _ requestID: String) {
        noteFailure(refusal.status, requestID, nil, refusal.why)
    }

    private func noteFailure(_ status: Int, _ requestID: String, _ route: Route?, _ cause: String) {
        let fields: LogFields = [
            "status": status, "request_id": requestID, "call": route?.name, "reason": cause,
        ]
        if status == 503 {
            log.warning("a call failed", fields, limit: Self.failureLimit)
        } else {
            log.error("a call failed", fields, limit: Self.failureLimit)
        }
    }

    /// In words that hold nothing of the call: of an error of an unknown type, its name.
    private static func cause(of error: any Error) -> String {
        switch error {
        case let error as StoreError: error.description
        case let problem as Problem: problem.detail
        default: "an unexpected error: \(type(of: error))"
        }
    }

    /// Counts an event's answer, and says if it came to nothing without being refused.
    func record(_ verdict: EventVerdict?, of event: FeedEvent?, match: MatchID?, _ call: Call) {
        guard let verdict, verdict.problem == nil else { return events.add(.refused) }
        guard !verdict.isReplayed else { return events.add(.replayed) }
        switch verdict.status {
        case "superseded":
            events.add(.superseded)
            log.info("an event was superseded: a later one had come before it", fields(verdict, event, match, call))
        case "ignored":
            events.add(.ignored)
            log.info("an event was ignored: its match has ended", fields(verdict, event, match, call))
        default: events.add(.accepted)
        }
    }

    private func fields(_ verdict: EventVerdict, _ event: FeedEvent?, _ match: MatchID?, _ call: Call) -> LogFields {
        [
            "tenant": call.tenantID?.text, "match": match?.text, "event": event?.id.text, "sequence": event?.sequence,
            "occurred_at": event?.occurredAt.map { "\($0)" }, "version": verdict.version,
            "request_id": call.requestID,
        ]
    }
}
