/// Where Apple's pages and the live service disagree: whose words the simulator uses.
package enum SimulatorProfile: String, Sendable, CaseIterable {
    /// What third parties saw the live service answer.
    case observed
    /// The strings of Apple's documentation.
    case documented

    /// The reason when an app has no broadcast capability.
    var broadcastNotEnabled: String {
        switch self {
        case .observed: "BroadcastFeatureNotEnabled"
        case .documented: "FeatureNotEnabled"
        }
    }

    /// The answer to the deletion of a channel that does not exist.
    var deletionOfUnknownChannel: Rejection {
        switch self {
        case .observed: Rejection(404, "BadPath")
        case .documented: Rejection(400, "ChannelNotRegistered")
        }
    }

    /// The documentation names a key that does not fit the connection on the device page only.
    func unrelatedKey(on route: RequestRoute.Kind) -> Rejection {
        switch (self, route) {
        case (.observed, _), (.documented, .device): Rejection(403, "UnrelatedKeyIdInToken")
        case (.documented, _): Rejection(403, "InvalidProviderToken")
        }
    }

    /// The documentation names a key of the other environment on the device page only.
    func keyOfOtherEnvironment(on route: RequestRoute.Kind) -> Rejection {
        switch (self, route) {
        case (.observed, _), (.documented, .device): Rejection(403, "BadEnvironmentKeyIdInToken")
        case (.documented, _): Rejection(403, "InvalidProviderToken")
        }
    }
}

/// The two services of Apple that share neither tokens nor channels.
package enum SimulatedEnvironment: String, Sendable, CaseIterable {
    case production
    case sandbox
}
