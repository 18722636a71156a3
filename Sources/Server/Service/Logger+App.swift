internal import APNsProtocol
internal import Core
internal import Log
internal import Store

// Each stop of an app's work and each outage of its pushes is said, and its end: there are few, and each needs a person.
extension Logger {
    func stopped(_ kind: TargetKind, of app: AppKey, because reason: String) {
        error(
            "an app's work was stopped",
            [
                "tenant": app.tenant.text, "app": app.bundle.text, "environment": app.environment.rawValue,
                "work": kind.work, "reason": reason,
            ],
            limit: .max
        )
    }

    /// - Parameters:
    ///   - kind: What goes on.
    ///   - app: Whose.
    ///   - cause: `command`, or `credential`.
    ///   - reason: Why it had been stopped.
    func resumed(_ kind: TargetKind, of app: AppKey, by cause: String, after reason: String) {
        info(
            "an app's work goes on",
            [
                "tenant": app.tenant.text, "app": app.bundle.text, "environment": app.environment.rawValue,
                "work": kind.work, "by": cause, "was_stopped_for": reason,
            ],
            limit: .max
        )
    }

    func outageBegan(of kind: TargetKind, of app: AppKey, answer: String) {
        error(
            "no push succeeds any more: one at a time tries it",
            [
                "tenant": app.tenant.text, "app": app.bundle.text, "environment": app.environment.rawValue,
                "work": kind.work, "last_answer": answer,
            ],
            limit: .max
        )
    }

    func outageEnded(of kind: TargetKind, of app: AppKey, after duration: Duration) {
        info(
            "pushes succeed again: all that waited goes out",
            [
                "tenant": app.tenant.text, "app": app.bundle.text, "environment": app.environment.rawValue,
                "work": kind.work, "after_s": duration,
            ],
            limit: .max
        )
    }
}

extension TargetKind {
    /// As an app's `stopped` calls it.
    fileprivate var work: String { self == .channel ? "channels" : "tokens" }
}
