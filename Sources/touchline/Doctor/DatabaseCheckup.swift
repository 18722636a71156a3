internal import APNsProtocol
internal import Core
internal import Crypto
internal import EventLoop
internal import Executables
internal import PostgreSQL
internal import Server
internal import Store

/// Tries the database, its settings, its tables, its clock, a write and the master key, and reads the apps' keys.
struct DatabaseCheckup: Sendable {
    let settings: Settings
    let loop: EventLoop

    /// An app whose key could be read.
    struct App: Sendable {
        let key: SigningKey
        let bundle: BundleID
        let environment: APNsEnvironment
    }

    /// - Parameter conninfo: libpq's.
    /// - Returns: What was found, and the apps' keys as far as the master key opens them.
    func run(_ conninfo: String) async -> (findings: [Finding], apps: [App]) {
        let deadline = ContinuousClock.now + .seconds(15)
        let rows: [Row]
        var findings: [Finding] = []
        do throws(PGError) {
            let facts = try await SessionFacts.look(at: conninfo, on: loop, by: deadline)
            let found = facts.findings()
            findings += found.map { finding in
                let state = finding.isRefused ? Finding.bad : Finding.warning
                return state("database", finding.detail, finding.hint, .database)
            }
            if found.contains(where: \.isRefused) { return (findings, []) }
            let connection = try await PGConnection.connect(conninfo, on: loop, by: deadline)
            do throws(PGError) {
                let missing = try await Store.migrator.missing(on: connection, by: deadline)
                guard missing.isEmpty else {
                    await connection.close()
                    let finding = Finding.bad(
                        "database",
                        "\(missing.count) migrations are missing, the first is \(missing[0])",
                        hint: "Run `touchline migrate`.",
                        .database
                    )
                    return (findings + [finding], [])
                }
                findings.append(.good("database", "answers, and its tables are up to date"))
                findings.append(await Self.writing(connection, by: deadline))
                findings.append(try await Self.clock(connection, by: deadline))
                rows = try await Self.rows(connection, by: deadline)
                await connection.close()
            } catch {
                await connection.close()
                throw error
            }
        } catch {
            let hint = "Check DATABASE_URL, and that PostgreSQL runs and lets this user in."
            return (findings + [.bad("database", "\(error)", hint: hint, .database)], [])
        }
        let (finding, apps) = open(rows)
        return (findings + [finding], apps)
    }

    private struct Row {
        let app: AppKey
        let team: TeamID
        let keyID: KeyID
        let ciphertext: [UInt8]
    }

    private static func writing(_ connection: PGConnection, by deadline: ContinuousClock.Instant) async -> Finding {
        do throws(PGError) {
            try await Store.checkWriting(on: connection, by: deadline)
            return .good("database writes", "rows and files can be written")
        } catch {
            let (detail, hint) = Store.writeTrouble(error)
            return .bad("database writes", detail, hint: hint, .database)
        }
    }

    private static func clock(
        _ connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Finding {
        let sql = "SELECT extract(epoch FROM clock_timestamp())::bigint"
        let ahead = HandPush.clock() - (try await connection.query(sql, by: deadline)[0].int(0))
        guard abs(ahead) > 5 else { return try await stamps(connection, by: deadline) }
        return .bad(
            "database clock",
            "this machine's clock is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") the database's",
            hint: "Set both, and keep them set: chrony or systemd-timesyncd.",
            .clock
        )
    }

    /// The clock is right now, as far as this machine's is; what it was shows in the stamps that were given.
    private static func stamps(
        _ connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Finding {
        let sql = """
            SELECT coalesce(max(last_stamp), 0), extract(epoch FROM clock_timestamp())::bigint FROM matches
            WHERE deleted_at IS NULL AND end_version IS NULL
            """
        let row = try await connection.query(sql, by: deadline)[0]
        let (last, now) = (row.int(0), row.int(1))
        guard StampRule.isClockWrong(last: last, now: Moment(seconds: now)) else {
            return .good("database clock", "within 5 s of this machine's")
        }
        return .bad(
            "database clock",
            "clock_ahead: stamps of live matches are \(last - now) s ahead of its clock",
            hint: "It was ahead, or an earlier one answers since a failover. Nothing waits for it; "
                + "keep the clocks set: chrony or systemd-timesyncd.",
            .clock
        )
    }

    private static func rows(
        _ connection: PGConnection,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> [Row] {
        let sql = """
            SELECT tenant_id, bundle, environment, team_id, key_id, p8_ciphertext FROM apps
            ORDER BY tenant_id, bundle, environment LIMIT 100
            """
        return try await connection.query(sql, by: deadline).compactMap { row in
            guard let tenant = TenantID(validating: row.text(0)), let bundle = BundleID(validating: row.text(1)),
                let environment = APNsEnvironment(rawValue: row.text(2)), let team = TeamID(validating: row.text(3)),
                let keyID = KeyID(validating: row.text(4))
            else { return nil }
            let app = AppKey(tenant: tenant, bundle: bundle, environment: environment)
            return Row(app: app, team: team, keyID: keyID, ciphertext: row.bytes(5))
        }
    }

    private func open(_ rows: [Row]) -> (Finding, [App]) {
        let master: MasterKey
        do {
            switch settings.masterKey {
            case .file(let file): master = try DataFolder.masterKey(file: file)
            case .base64(let text): master = try MasterKey(base64: text)
            case .dataFolder: master = try DataFolder.masterKey(file: "\(settings.dataFolder)/master.key")
            }
        } catch {
            let hint = "Give the key that the apps' keys were encrypted with: --master-key-file FILE."
            return (.bad("master key", "\(error)", hint: hint, .masterKey), [])
        }
        var apps: [App] = []
        for row in rows {
            guard let pem = try? master.open(row.ciphertext, for: row.app.binding("p8")),
                let key = try? P256PrivateKey(pem: String(decoding: pem, as: UTF8.self))
            else { continue }
            let signing = SigningKey(key: key, team: row.team, keyID: row.keyID)
            apps.append(App(key: signing, bundle: row.app.bundle, environment: row.app.environment))
        }
        guard apps.count == rows.count else {
            let detail = "\(rows.count - apps.count) of \(rows.count) apps' keys do not open with it"
            let hint = "Bring the old master key back, or set these apps' credentials anew with `touchline app set`."
            return (.bad("master key", detail, hint: hint, .masterKey), apps)
        }
        return (
            .good("master key", "opens \(rows.count == 1 ? "the one app's key" : "all \(rows.count) apps' keys")"), apps
        )
    }
}
