internal import APNsProtocol
internal import Core
internal import Crypto
internal import HTTP2
internal import Log
internal import Store

extension API {
    func putApp(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let key = try call.app()
        let body = try ObjectReader(try call.json(), names: ["team_id", "key_id", "p8"] + AppChanges.names)
        let credential = try credential(body, of: key)
        var settings = AppSettings()
        try AppChanges(body).apply(to: &settings)
        let before = try await store.app(key, by: call.deadline)
        let (app, isNew) = try await store.putApp(key, credential: credential, settings: settings, by: call.deadline)
        if !isNew {
            try await store.revive(key, by: call.deadline)
            try await store.markBehind(key, by: call.deadline)
            try await store.paceAnew(key, by: call.deadline)
        }
        if let before { noteResumption(of: before, by: "credential") }
        wake()
        return .json(200, app.json)
    }

    func changeApp(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        let key = try call.app()
        let body = try ObjectReader(try call.json(), names: ["paused", "stopped"] + AppChanges.names)
        let changes = try AppChanges(body)
        let isPaused = try body.optionalBool("paused")
        // `"stopped": null` is the command to go on.
        let resumes = body.value("stopped")?.isNull ?? false
        if let stopped = body.present("stopped") { throw body.mistyped("stopped", stopped, "null, to go on") }
        let before = resumes ? try await store.app(key, by: call.deadline) : nil
        let app = try await store.changeApp(key, isPaused: isPaused, resumes: resumes, by: call.deadline) {
            changes.apply(to: &$0)
        }
        guard let app else { throw Self.noSuchApp }
        if resumes { try await store.revive(key, by: call.deadline) }
        if isPaused == false || resumes { try await store.markBehind(key, by: call.deadline) }
        try await store.paceAnew(key, by: call.deadline)
        if let before { noteResumption(of: before, by: "command") }
        if let isPaused {
            log.info(
                "an app's pause was changed",
                [
                    "tenant": key.tenant.text, "app": key.bundle.text, "environment": key.environment.rawValue,
                    "is_paused": isPaused,
                ]
            )
        }
        wake()
        return .json(200, app.json)
    }

    private func noteResumption(of app: AppRecord, by cause: String) {
        if let reason = app.tokensStopped { log.resumed(.tokens, of: app.key, by: cause, after: reason) }
        if let reason = app.channelsStopped { log.resumed(.channel, of: app.key, by: cause, after: reason) }
    }

    func showApp(_ call: Call) async throws -> HTTPResponse {
        try call.noQuery()
        guard let app = try await store.app(try call.app(), by: call.deadline) else { throw Self.noSuchApp }
        return .json(200, app.json)
    }

    func listApps(_ call: Call) async throws -> HTTPResponse {
        let paging = try Paging(call, parts: 2)
        let after = paging.after.map { ($0[0], $0[1]) }
        let page = try await store.apps(of: call.tenant, after: after, limit: paging.limit, by: call.deadline)
        return .page(page, place: { [$0.key.bundle.text, $0.key.environment.rawValue] }, \.json)
    }

    private static let noSuchApp = Problem(.notFound, "there is no such app")

    /// Reads the key, and seals it for this app only.
    private func credential(_ body: ObjectReader, of app: AppKey) throws -> AppCredential {
        let text = try body.string("p8")
        let key: P256PrivateKey
        do {
            key = try P256PrivateKey(pem: text)
        } catch {
            guard case .key(let fault) = error else { throw Problem(.internalError, "the key could not be read") }
            throw Problem(
                .keyNotUsable,
                fault.description,
                field: "p8",
                hint: "Send the text of the AuthKey_….p8 file from Apple's developer site, unchanged."
            )
        }
        do {
            return AppCredential(
                team: try body.wrapped("team_id"),
                key: try body.wrapped("key_id"),
                p8Ciphertext: try store.masterKey.seal(Array(try key.pem.utf8), for: app.binding("p8")),
                fingerprint: try key.publicKey.fingerprint
            )
        } catch let error as CryptoError {
            throw Problem(.internalError, "the key could not be stored: \(error)")
        }
    }
}

extension AppRecord {
    fileprivate var json: JSONOutput {
        [
            "bundle": .string(key.bundle.text), "environment": .string(key.environment.rawValue),
            "team_id": .string(team.text), "key_id": .string(keyID.text), "key_fingerprint": .string(fingerprint),
            "frequent_updates_declared": .bool(settings.frequentUpdatesDeclared),
            "channels": .string(settings.channels.rawValue), "tokens": .bool(settings.tokens),
            "storage_policy": .int(settings.storagePolicy.rawValue),
            "pacing": ["frequent": settings.frequent.json, "standard": settings.standard.json],
            "stale_after": .number(settings.staleAfter), "channel_lead": .number(settings.channelLead),
            "channel_linger": .number(settings.channelLinger), "start_lead": .number(settings.startLead),
            "ends_after_silence": .number(settings.endsAfterSilence),
            "paused": .bool(pausedAt != nil),
            "stopped": ["tokens": .string(tokensStopped), "channels": .string(channelsStopped)],
        ]
    }
}

extension AppSettings.Pace {
    fileprivate var json: JSONOutput {
        ["gap_seconds": .number(gapSeconds), "urgent_per_hour": .number(urgentPerHour)]
    }
}
