package import APNsProtocol
package import Core
internal import PostgreSQL

/// A match of a tenant.
package struct MatchKey: Hashable, Sendable {
    package let tenant: TenantID
    package let match: MatchID

    package init(tenant: TenantID, match: MatchID) {
        self.tenant = tenant
        self.match = match
    }
}

/// A target: what has to be brought to its match's version.
package struct TargetKey: Hashable, Sendable {
    package let match: MatchKey
    package let kind: TargetKind
    package let environment: APNsEnvironment
    package let cadence: Cadence
    /// Which part of the match's tokens; 0 for a channel.
    package let shard: Int

    package init(
        match: MatchKey,
        kind: TargetKind,
        environment: APNsEnvironment,
        cadence: Cadence,
        shard: Int = 0
    ) {
        self.match = match
        self.kind = kind
        self.environment = environment
        self.cadence = cadence
        self.shard = shard
    }

    /// Tells it from every other.
    package var text: String {
        "\(match.tenant.text)/\(match.match.text)/\(kind.rawValue)/\(environment.rawValue)/\(cadence.rawValue)/\(shard)"
    }
}

/// An app of a tenant in one environment.
package struct AppKey: Hashable, Sendable {
    package let tenant: TenantID
    package let bundle: BundleID
    package let environment: APNsEnvironment

    package init(tenant: TenantID, bundle: BundleID, environment: APNsEnvironment) {
        self.tenant = tenant
        self.bundle = bundle
        self.environment = environment
    }
}

extension PGRow {
    /// An identifier that was checked before it was stored.
    func wrapped<Wrapped: WrappedText>(_ column: Int, as type: Wrapped.Type = Wrapped.self) -> Wrapped {
        let stored = text(column)
        guard let value = Wrapped(validating: stored) else {
            preconditionFailure("column \(column) holds no valid \(Wrapped.self)")
        }
        return value
    }

    func value<Value: RawRepresentable>(_ column: Int, as type: Value.Type = Value.self) -> Value
    where Value.RawValue == String {
        guard let value = Value(rawValue: text(column)) else {
            preconditionFailure("column \(column) holds no \(Value.self)")
        }
        return value
    }

    /// The columns `tenant_id, match_id` from `column` on.
    func matchKey(_ column: Int) -> MatchKey {
        MatchKey(tenant: wrapped(column), match: wrapped(column + 1))
    }

    /// The columns `tenant_id, match_id, kind, environment, cadence, shard` from `column` on.
    func targetKey(_ column: Int) -> TargetKey {
        TargetKey(
            match: matchKey(column),
            kind: value(column + 2),
            environment: value(column + 3),
            cadence: value(column + 4),
            shard: Int(int(column + 5))
        )
    }

    func moment(_ column: Int) -> Moment {
        Moment(milliseconds: timestamp(column).unixMilliseconds)
    }

    func optionalMoment(_ column: Int) -> Moment? {
        optionalTimestamp(column).map { Moment(milliseconds: $0.unixMilliseconds) }
    }
}

extension PGValue {
    static func moment(_ moment: Moment?) -> PGValue {
        .timestamp(moment.map { PGTimestamp(unixMilliseconds: $0.milliseconds) })
    }

    static func seconds(_ duration: Duration) -> PGValue {
        .double(Double(duration.wholeMilliseconds) / 1000)
    }

    static func text(_ identifier: some WrappedText) -> PGValue {
        .text(identifier.text)
    }
}

extension MatchKey {
    var parameters: [PGValue] { [.text(tenant), .text(match)] }
}

extension TargetKey {
    var parameters: [PGValue] {
        match.parameters + [
            .text(kind.rawValue), .text(environment.rawValue), .text(cadence.rawValue), .int(shard),
        ]
    }
}

extension Store {
    /// Statements as the owner of the tables, in one round trip and one transaction.
    func pipeline(_ statements: [PGStatement], by deadline: ContinuousClock.Instant) async throws(StoreError)
        -> [PGResult]
    {
        try await owner(by: deadline, statements)
    }

    /// One statement as the owner of the tables.
    func query(
        _ sql: String,
        _ parameters: [PGValue] = [],
        by deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> PGResult {
        try await owner(by: deadline, sql, parameters)
    }
}
