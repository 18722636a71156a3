package import PostgreSQL

/// Why the store could not do what it was asked.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// PostgreSQL is away or overloaded; what was being written may or may not be there. Answered as 503.
    case unavailable(String)
    /// Two writers met, or a row that must be unique is there already: the constraint's name.
    case conflict(constraint: String?)
    /// A key, setting or ciphertext is wrong: a person has to change something.
    case configuration(String)
    /// A statement of ours failed in a way that is a mistake in Touchline.
    case failed(PGError)

    package init(_ error: PGError) {
        switch error.kind {
        case .unavailable, .deadline, .busy: self = .unavailable(error.description)
        case .configuration: self = .configuration(error.description)
        case .statement where error.isUniqueViolation: self = .conflict(constraint: error.constraint)
        // After the store's own retries; another attempt may succeed.
        case .statement where error.isRetryable || error.isTimeout: self = .unavailable(error.description)
        case .statement: self = .failed(error)
        }
    }

    package var isUnavailable: Bool {
        if case .unavailable = self { true } else { false }
    }

    package var description: String {
        switch self {
        case .unavailable(let why): "the database is not available: \(why)"
        case .conflict(let constraint): "a conflicting row is there already\(constraint.map { " (\($0))" } ?? "")"
        case .configuration(let why): why
        case .failed(let error): "a database statement failed: \(error)"
        }
    }
}
