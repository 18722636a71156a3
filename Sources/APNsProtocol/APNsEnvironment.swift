/// One of APNs' two worlds: tokens, channels and restricted keys of one mean nothing in the other.
package enum APNsEnvironment: String, CaseIterable, Sendable, Hashable {
    case sandbox
    case production

    /// Where pushes go by default, broadcasts included; port 443 (2197 is Apple's alternative).
    package var pushHost: String {
        switch self {
        case .sandbox: "api.sandbox.push.apple.com"
        case .production: "api.push.apple.com"
        }
    }

    package var pushPort: Int { 443 }

    /// Where channels are created, read and deleted by default.
    package var manageHost: String {
        switch self {
        case .sandbox: "api-manage-broadcast.sandbox.push.apple.com"
        case .production: "api-manage-broadcast.push.apple.com"
        }
    }

    package var managePort: Int {
        switch self {
        case .sandbox: 2_195
        case .production: 2_196
        }
    }
}
