package import PostgreSQL
internal import Store

/// Says that there is something to do: rung after every commit that made something due.
///
/// It wakes this process's loops directly. Other processes hear it by a NOTIFY of its own, at most every few
/// milliseconds: notifying inside an event's transaction would serialise all commits in PostgreSQL. Polling is the
/// safety net beneath both.
package final class WorkBell: Sendable {
    private static let channel = "touchline_work"
    /// The least time between two notifications.
    private static let gap = Duration.milliseconds(10)

    let targets = WakeUp()
    let stragglers = WakeUp()
    let housekeeping = WakeUp()
    let starts = WakeUp()
    private let others = WakeUp()
    /// Names this process, so that it does not wake itself.
    private let name: String

    package init(name: String) {
        self.name = name
    }

    /// Cheap, and callable from anywhere.
    package func ring() {
        ringHere()
        others.signal()
    }

    func ringHere() {
        targets.signal()
        stragglers.signal()
        housekeeping.signal()
        starts.signal()
    }

    /// Tells other processes, until cancelled.
    ///
    /// - Parameters:
    ///   - database: Where.
    ///   - wait: How long it stands back before: where this process is at the work already.
    package func runNotifying(over database: PGPool, after wait: Duration = .zero) async {
        while !Task.isCancelled {
            await others.wait(atMost: .seconds(3600))
            if Task.isCancelled { return }
            if wait > .zero { try? await Task.sleep(for: wait) }
            // A lost notification is a poll's delay: it does not wait for the disk.
            _ = try? await database.pipeline(
                [
                    "SELECT set_config('synchronous_commit', 'off', true)",
                    PGStatement("SELECT pg_notify($1, $2)", [.text(Self.channel), .text(name)]),
                ],
                by: .now + .seconds(5)
            )
            try? await Task.sleep(for: Self.gap)
        }
    }

    /// Listens to other processes, until cancelled; connects again when the connection is lost.
    ///
    /// - Parameter connect: Makes a connection that is this listener's alone.
    package func runListening(connect: @Sendable () async throws(PGError) -> PGConnection) async {
        while !Task.isCancelled {
            if let connection = try? await connect() {
                if let notifications = try? await connection.listen([Self.channel], by: .now + .seconds(5)) {
                    for await notification in notifications where notification.payload != name {
                        ringHere()
                    }
                }
                await connection.close()
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
