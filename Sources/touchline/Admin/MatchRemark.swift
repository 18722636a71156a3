internal import Executables

/// What the answer to a match's `PUT` says to do.
struct MatchHint: Decodable, Sendable {
    let hint: String?
}

/// What `GET` of a match says of its end by silence.
struct MatchSilence: Sendable {
    private struct Body: Decodable {
        let warnings: [String]?
        let ends_at: String?
    }

    let remarks: [String]

    /// - Throws: ``Failure`` when the answer is no match.
    init(_ answer: APIClient.Answer) throws(Failure) {
        let body = try answer.decode(Body.self)
        guard body.warnings?.contains("ends_soon") == true, let end = body.ends_at else {
            remarks = []
            return
        }
        remarks = [
            "No event has come for long: the match ends by itself at \(end). An event or a heartbeat puts that off, and so does "
                + "ends_after_silence."
        ]
    }
}
