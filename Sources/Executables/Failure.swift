/// Why a command ended without doing what it was asked; becomes the exit code and the text on standard error.
package struct Failure: Error, Equatable, Sendable {
    package enum Kind: Int32, Sendable {
        case failed = 1
        case wrongUse = 2
        case notFound = 3
        case notAllowed = 4
    }

    package let kind: Kind
    /// What went wrong, in one sentence.
    package let message: String
    /// What to do next.
    package let hint: String?
    /// The service's code, where it was the service that said no: `channel_pending`.
    package let code: String?

    package init(_ kind: Kind = .failed, _ message: String, hint: String? = nil, code: String? = nil) {
        self.kind = kind
        self.message = message
        self.hint = hint
        self.code = code
    }
}
