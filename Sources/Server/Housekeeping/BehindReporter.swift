internal import Core
internal import Log
internal import Store

/// Says in the log which matches have been behind for more than a minute, and when they have caught up.
struct BehindReporter {
    let store: Store
    let log: Logger
    private var watch = BehindWatch<MatchKey>()

    init(store: Store, log: Logger) {
        self.store = store
        self.log = log
    }

    /// Looks once. While PostgreSQL does not answer nothing is known, and that is said elsewhere.
    mutating func look(by deadline: ContinuousClock.Instant) async {
        let patience = BehindWatch<MatchKey>.patience
        let found: BehindMatches
        do throws(StoreError) {
            found = try await store.behindMatches(for: patience, by: deadline)
        } catch {
            if !error.isUnavailable {
                log.error("matches that are behind cannot be found", ["reason": error.description])
            }
            return
        }
        let facts = Dictionary(uniqueKeysWithValues: found.matches.map { ($0.match, $0) })
        for remark in watch.note(facts.mapValues(\.since), isComplete: found.isComplete, now: found.now) {
            switch remark {
            case .behind(let match, let since):
                guard let fact = facts[match] else { continue }
                log.warning(
                    "a match is behind",
                    [
                        "tenant": match.tenant.text, "match": match.match.text, "since": since.rfc3339,
                        "for_s": (found.now - since), "channels": fact.channels, "shards": fact.shards,
                        "phones": fact.phones, "last_answer": fact.lastAnswer ?? "none",
                    ]
                )
            case .caughtUp(let match, let duration):
                log.info(
                    "a match has caught up",
                    ["tenant": match.tenant.text, "match": match.match.text, "was_behind_s": duration]
                )
            }
        }
    }
}

extension Moment {
    fileprivate var rfc3339: String { "\(Timestamp(microseconds: milliseconds * 1_000))" }
}
