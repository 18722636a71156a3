internal import APNsProtocol
internal import Core
internal import PostgreSQL

/// Registrations without repetitions, ordered by match and activity, so that two batches lock rows in the same order.
struct RegistrationBatch: Sendable {
    struct Key: Hashable, Comparable, Sendable {
        let match: MatchID
        let activity: ActivityID

        init(_ match: MatchID, _ activity: ActivityID) {
            self.match = match
            self.activity = activity
        }

        /// Byte by byte, as everybody orders rows that are locked.
        static func < (left: Key, right: Key) -> Bool {
            left.match == right.match
                ? left.activity.text.utf8.lexicographicallyPrecedes(right.activity.text.utf8)
                : left.match.text.utf8.lexicographicallyPrecedes(right.match.text.utf8)
        }
    }

    struct Entry: Sendable {
        let key: Key
        let registration: ActivityRegistration
        /// Where it came in the call.
        let place: Int
    }

    let ordered: [Entry]

    init(_ registrations: [(match: MatchID, registration: ActivityRegistration)]) {
        var last: [Key: Entry] = [:]
        last.reserveCapacity(registrations.count)
        for (place, (match, registration)) in registrations.enumerated() {
            let key = Key(match, registration.activity)
            last[key] = Entry(key: key, registration: registration, place: place)
        }
        ordered = last.values.sorted { $0.key < $1.key }
    }

    /// Tenant, then the distinct matches with environments and settings.
    func places(_ tenant: TenantID) -> [PGValue] {
        struct Place: Hashable {
            let match: MatchID
            let environment: APNsEnvironment
            let allows: Bool
        }
        let places = Set(
            ordered.map {
                Place(
                    match: $0.key.match,
                    environment: $0.registration.environment,
                    allows: $0.registration.allowsFrequentUpdates
                )
            }
        ).sorted { ($0.match.text, $0.environment.rawValue) < ($1.match.text, $1.environment.rawValue) }
        return [
            .text(tenant), .textArray(places.map(\.match.text)), .textArray(places.map(\.environment.rawValue)),
            .boolArray(places.map(\.allows)),
        ]
    }

    /// Tenant, then the registrations.
    func rows(_ tenant: TenantID) -> [PGValue] {
        [
            .text(tenant), .textArray(ordered.map(\.key.match.text)), .textArray(ordered.map(\.key.activity.text)),
            .textArray(ordered.map(\.registration.token.text)),
            .textArray(ordered.map(\.registration.environment.rawValue)),
            .boolArray(ordered.map(\.registration.allowsFrequentUpdates)),
            .textArray(ordered.map(\.registration.device?.text)), .int8Array(ordered.map { Int64($0.place) }),
        ]
    }

    /// Tenant, then the update tokens with their environments.
    func tokens(_ tenant: TenantID) -> [PGValue] {
        [
            .text(tenant), .textArray(ordered.map(\.registration.token.text)),
            .textArray(ordered.map(\.registration.environment.rawValue)),
        ]
    }
}
