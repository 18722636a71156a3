import Core
import EventLoop
import Executables
import PostgreSQL
import Store

extension Command {
    static let migrate = Command(
        "migrate",
        "bring the database's tables up to date",
        options: [Option("--json", "for programs: {\"applied\"}")],
        details: """
            Works on the database in DATABASE_URL (postgres://touchline@db/touchline). `touchline serve` does the same at its
            start; do it apart where that should happen at a time of your own.
            """,
        example: "touchline migrate"
    ) { invocation throws(Failure) in
        let applied = try await withDatabase(invocation) { connection throws(PGError) in
            try await Store.migrator.run(on: connection, by: .now + .seconds(3_600))
        }
        if invocation.isOn("--json") {
            let body: JSONOutput = ["applied": .array(applied.map { .string($0) })]
            return Terminal.print(body.text)
        }
        guard !applied.isEmpty else { return Terminal.print("up to date") }
        for name in applied { Terminal.print("applied \(name)") }
    }

    static let keyBootstrap = Command(
        "key bootstrap",
        "make the first operator key, straight in the database",
        options: [Option("--json", "for programs: {\"secret\"}")],
        details: """
            Works on the database in DATABASE_URL (postgres://touchline@db/touchline), whose tables have to be there. The secret
            is shown this once and kept nowhere.
            """,
        example: "touchline key bootstrap"
    ) { invocation throws(Failure) in
        let text = try await withDatabase(invocation) { connection throws(PGError) in
            guard try await Store.migrator.missing(on: connection, by: .now + .seconds(30)).isEmpty else {
                throw PGError(.configuration, "the tables are not up to date: run `touchline migrate` first")
            }
            return try await Store.createOperatorKey(on: connection, by: .now + .seconds(30)).text
        }
        if invocation.isOn("--json") {
            Terminal.print("{\"secret\":\"\(text)\"}")
        } else {
            Terminal.print(text)
            Terminal.complain("Keep it: it is not shown again. For example: export TOUCHLINE_KEY=…")
        }
    }
}

/// Runs `body` on a connection to the database in `DATABASE_URL`.
private func withDatabase<Value: Sendable>(
    _ invocation: Invocation,
    _ body: (PGConnection) async throws(PGError) -> Value
) async throws(Failure) -> Value {
    guard let url = invocation.environment["DATABASE_URL"], !url.isEmpty else {
        throw Failure(
            .wrongUse,
            "DATABASE_URL is not set",
            hint: "The embedded PostgreSQL needs no \(invocation.command.name): `touchline serve` sees to it."
        )
    }
    var facts: SessionFacts?
    do {
        let loop = try EventLoop(name: "database")
        let found = try await SessionFacts.look(at: url, on: loop, by: .now + .seconds(15))
        if let refused = found.findings().first(where: \.isRefused) {
            throw Failure(.failed, "PostgreSQL cannot be used: \(refused.detail)", hint: refused.hint)
        }
        facts = found
        let connection = try await PGConnection.connect(url, on: loop, by: .now + .seconds(15))
        do throws(PGError) {
            let value = try await body(connection)
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw error
        }
    } catch let failure as Failure {
        throw failure
    } catch {
        throw Failure(.failed, "\(error)", hint: (error as? PGError).flatMap { Store.migrationHint(for: $0, facts) })
    }
}
