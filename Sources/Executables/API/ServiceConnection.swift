package import EventLoop
package import HTTP2

/// A connection to an HTTP service that is opened when it is first needed, and again when it was lost.
package actor ServiceConnection {
    package nonisolated let url: ServiceURL
    private let tls: TLSContext?
    private let loop: EventLoop
    private var opening: Task<HTTP2Client, any Error>?

    /// - Parameters:
    ///   - url: Where the service is; plain `http` is HTTP/2 with prior knowledge.
    ///   - caFile: PEM of the roots to trust instead of the system's.
    ///   - loop: Where the connection lives.
    /// - Throws: ``Failure`` for a CA file that cannot be used.
    package init(url: ServiceURL, caFile: String?, loop: EventLoop) throws(Failure) {
        self.url = url
        self.loop = loop
        do throws(TLSError) {
            tls = url.isSecure ? try TLSContext.client(caFile: caFile) : nil
        } catch {
            throw Failure(.failed, "TLS is not usable: \(error)")
        }
    }

    /// Sends one request on the open connection.
    package func send(_ request: HTTPRequest, by deadline: ContinuousClock.Instant) async throws -> HTTPResponse {
        let task = opening ?? open(by: deadline)
        opening = task
        let client: HTTP2Client
        do {
            client = try await task.value
        } catch {
            forget(task)
            throw error
        }
        do {
            return try await client.send(request, by: deadline)
        } catch {
            if await !client.isUsable {
                forget(task)
                await client.close()
            }
            throw error
        }
    }

    /// The next request opens a new connection, unless another one has done so already.
    private func forget(_ task: Task<HTTP2Client, any Error>) {
        if opening == task { opening = nil }
    }

    package func close() async {
        guard let task = opening else { return }
        opening = nil
        if let client = try? await task.value { await client.close() }
    }

    private func open(by deadline: ContinuousClock.Instant) -> Task<HTTP2Client, any Error> {
        Task { [url, tls, loop] in
            try await HTTP2Client.connect(host: url.host, port: url.port, tls: tls, on: loop, by: deadline)
        }
    }
}
