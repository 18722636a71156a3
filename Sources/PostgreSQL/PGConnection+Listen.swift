/// What a `NOTIFY` sent.
package struct PGNotification: Equatable, Sendable {
    package let channel: String
    package let payload: String
}

extension PGConnection {
    /// Subscribes to `channels`. For a connection that does nothing else.
    ///
    /// - Returns: What arrives from now on; it ends when the connection is closed or lost. The newest 4,096 are kept while
    ///   nobody reads, so a reader treats a notification as a hint to look, not as the news itself.
    package func listen(
        _ channels: [String],
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> AsyncStream<PGNotification> {
        let stream = openNotifications()
        let statements = channels.map { channel in
            PGStatement("LISTEN \"\(channel.split(separator: "\"").joined(separator: "\"\""))\"")
        }
        _ = try await pipeline(statements, by: deadline)
        return stream
    }
}
