extension RequestCheck {
    static func authenticate(_ context: inout CheckContext) -> Rejection? {
        switch context.verifier.verify(context.request.authorization, now: context.now) {
        case .success(let token):
            context.token = token
            return nil
        case .failure(let rejection): return rejection
        }
    }

    static func checkKeyEnvironment(_ context: inout CheckContext) -> Rejection? {
        guard let environment = context.credential?.environment, environment != context.environment,
            let kind = context.route?.kind
        else { return nil }
        return context.profile.keyOfOtherEnvironment(on: kind)
    }

    static func checkConnection(_ context: inout CheckContext) -> Rejection? {
        guard let token = context.token, let text = context.request.authorization, let kind = context.route?.kind else {
            return nil
        }
        switch context.binding.admit(token, text: text, now: context.now) {
        case .otherKey: return context.profile.unrelatedKey(on: kind)
        case .tooManyUpdates: return Rejection(429, "TooManyProviderTokenUpdates")
        case nil: return nil
        }
    }

    /// A topic that is missing is the missing headers' affair.
    static func checkTopicAllowed(_ context: inout CheckContext) -> Rejection? {
        guard let bundles = context.credential?.bundles, let topic = context.request.topic else { return nil }
        return bundles.contains(PushType.bundle(ofTopic: topic)) ? nil : Rejection(400, "TopicDisallowed")
    }

    static func checkBundleAllowed(_ context: inout CheckContext) -> Rejection? {
        guard let bundle = context.route?.bundle else { return nil }
        if PushType.hasTopicSuffix(bundle) { return Rejection(400, "TopicDisallowed") }
        guard context.credential?.covers(bundle: bundle) ?? true else { return Rejection(403, "TopicMismatch") }
        guard context.channels.isEnabled(bundle, context.environment) else {
            return Rejection(400, context.profile.broadcastNotEnabled)
        }
        return nil
    }
}
