internal import APNsProtocol
internal import EventLoop
internal import Executables
internal import HTTP2
internal import Server

/// One request to APNs over a connection of its own.
struct APNsExchange: Sendable {
    let host: Settings.HostPort
    /// PEM of the roots to trust instead of the system's.
    let caFile: String?
    let loop: EventLoop

    /// What came back, and how long it took from the request on.
    struct Answer: Sendable {
        let response: HTTPResponse
        let duration: Duration
    }

    /// Connects, sends and waits.
    ///
    /// - Parameters:
    ///   - method: `POST` for pushes.
    ///   - path: With its leading slash.
    ///   - fields: All but `authorization`.
    ///   - token: The provider token; nil: none, which APNs refuses.
    ///   - body: May be empty.
    ///   - deadline: For all of it.
    /// - Returns: The answer, of whatever status.
    /// - Throws: ``HTTP2Error`` when there was none, `cannotConnect` for a CA file that is not usable, too.
    func send(
        _ method: String,
        _ path: String,
        fields: [(name: String, value: String)],
        token: String?,
        body: [UInt8],
        by deadline: ContinuousClock.Instant
    ) async throws(HTTP2Error) -> Answer {
        let tls: TLSContext
        do throws(TLSError) { tls = try TLSContext.client(caFile: caFile) } catch {
            throw .cannotConnect("TLS is not usable: \(error)")
        }
        let client = try await HTTP2Client.connect(host: host.host, port: host.port, tls: tls, on: loop, by: deadline)
        var all = HTTPFields()
        if let token { all.append("authorization", "bearer \(token)") }
        for (name, value) in fields { all.append(name, value) }
        let start = ContinuousClock.now
        do throws(HTTP2Error) {
            let response = try await client.send(
                HTTPRequest(method: method, scheme: "", authority: "", target: path, fields: all, body: body),
                by: deadline
            )
            await client.close()
            return Answer(response: response, duration: .now - start)
        } catch {
            await client.close()
            throw error
        }
    }
}
