internal import EventLoop
internal import Log
internal import PostgreSQL
internal import Store

extension Service {
    /// Brings the tables up to date and opens the pools, with the master key.
    func openStore(
        on server: DatabaseServer,
        in folder: DataFolder?,
        _ loops: [EventLoop]
    ) async throws(ServiceFault) -> Store {
        let sample: [UInt8]?
        do {
            let connection = try await PGConnection.connect(server.conninfo, on: loops[0], by: .now + .seconds(30))
            let applied = try await Store.migrator.run(on: connection, by: .now + .seconds(900))
            if !applied.isEmpty {
                log.of("database").info("applied migrations", ["names": applied.joined(separator: " ")])
            }
            sample = try await connection.query("SELECT p8_ciphertext FROM apps LIMIT 1", by: .now + .seconds(30))
                .first?.bytes(0)
            await connection.close()
        } catch {
            let hint = Store.migrationHint(for: error, server.facts)
            throw ServiceFault("the database cannot be prepared: \(error)", hint: hint)
        }
        let masterKey = try masterKey(in: folder, sample: sample)
        let watch = DatabaseWatch(log: log.of("database"))
        // Those that the server does not give would fail instead of waiting. One more listens to other processes.
        let wanted = settings.databaseConnections
        let connections = server.facts.map { $0.connections(ofWanted: wanted + 1) - 1 } ?? wanted
        func pool(_ share: Int, setup: [String] = Store.setup) -> PGPool {
            let limit = max(1, connections * share / 11)
            var configuration = PGPool.Configuration(conninfo: server.conninfo, setup: setup, limit: limit)
            configuration.observe = { watch.note($0) }
            return PGPool(configuration, on: loops)
        }
        // In elevenths.
        return Store(database: pool(5), api: pool(4, setup: Store.apiSetup), keys: pool(2), masterKey: masterKey)
    }

    /// The key that the settings name, checked against `sample`, something that is encrypted in the database.
    private func masterKey(in folder: DataFolder?, sample: [UInt8]?) throws(ServiceFault) -> MasterKey {
        let key: MasterKey
        switch settings.masterKey {
        case .file(let file): key = try DataFolder.masterKey(file: file)
        case .base64(let text):
            do {
                key = try MasterKey(base64: text)
            } catch {
                throw ServiceFault("TOUCHLINE_MASTER_KEY: \(error)")
            }
        case .dataFolder:
            guard let folder else { preconditionFailure("a master key in no folder") }
            key = try folder.masterKey(mayMake: sample == nil)
        }
        guard sample.map(key.fits) ?? true else {
            throw ServiceFault(
                "the master key is not the one that the apps' keys in the database were encrypted with",
                hint: "Give the key that was used before: --master-key-file FILE"
            )
        }
        return key
    }

    /// Embedded: the operator's key stands in a file. One that the database does not know is replaced.
    ///
    /// - Returns: The file; nil with a database of the operator's own, where `touchline key bootstrap` makes a key.
    func ensureOperatorKey(_ store: Store, in folder: DataFolder?) async throws(ServiceFault) -> String? {
        guard let folder else { return nil }
        let file = folder.operatorKeyFile
        do {
            if let text = readText(file)?.filter({ !$0.isWhitespace }), let secret = KeySecret(text),
                try await store.caller(of: secret, by: .now + .seconds(30)) != nil
            {
                return file
            }
            let secret = try await store.createOperatorKey(by: .now + .seconds(30))
            try writeSecret(secret.text, to: file)
            return file
        } catch let fault as ServiceFault {
            throw fault
        } catch {
            throw ServiceFault("the operator's key cannot be made: \(error)")
        }
    }
}
