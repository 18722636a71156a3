package import APNsProtocol
internal import EventLoop
internal import HTTP2
internal import Log

/// Creates, reads, deletes and lists channels, over one connection for each environment and credential.
///
/// Requests are few and one at a time is enough; a connection that has gone is opened anew by the next request.
package actor ChannelManagement {
    private struct Key: Hashable {
        let environment: APNsEnvironment
        let credential: CredentialID
    }

    private let loop: EventLoop
    private let configuration: SenderPoolConfiguration
    private let providerTokens: any ProviderTokenSource
    private var clients: [Key: HTTP2Client] = [:]
    private var tokens: [Key: ConnectionTokens] = [:]
    private var isClosed = false
    private let reporter: PoolReporter

    /// The rule of one connection, and the number of each token that it has seen.
    private struct ConnectionTokens {
        var rule = ConnectionTokenRule()
        var last: String?
        var generation = 0

        mutating func mayCarry(_ token: String) -> Bool {
            if token != last { generation += 1 }
            last = token
            return rule.mayCarry(generation: generation, now: .now)
        }
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - configuration: Its endpoints of role `manage`, its TLS, its first loop.
    ///   - providerTokens: The pool's.
    package init(configuration: SenderPoolConfiguration, providerTokens: any ProviderTokenSource) {
        precondition(!configuration.loops.isEmpty, "channel management without a loop")
        loop = configuration.loops[0]
        self.configuration = configuration
        self.providerTokens = providerTokens
        reporter = PoolReporter(configuration.report)
    }

    /// Makes one request and reads its answer.
    ///
    /// What APNs has not taken up is asked once more on a new connection, and so is what it refused for an expired
    /// provider token. A request that may have arrived is never repeated: a second `create` would leave a channel that
    /// nobody knows.
    ///
    /// - Parameters:
    ///   - request: Create, read, delete or list.
    ///   - environment: Channels of one environment mean nothing in the other.
    ///   - credential: Covers the request's bundle.
    ///   - id: Echoed by APNs; for its support.
    ///   - deadline: For the whole exchange, connecting included.
    /// - Returns: The answer; `failed(.notProcessed)` and `failed(.unknown)` when there was none.
    package func answer(
        to request: ChannelRequest,
        environment: APNsEnvironment,
        credential: CredentialID,
        id: APNsID,
        by deadline: ContinuousClock.Instant
    ) async -> ChannelAnswer {
        let key = Key(environment: environment, credential: credential)
        var answer = ChannelAnswer.failed(.notProcessed)
        for attempt in 0..<3 {
            if isClosed || ContinuousClock.now >= deadline { return answer }
            let token: String
            do throws(ProviderTokenError) {
                token = try await providerTokens.token(for: credential)
            } catch .unusable(let reason) {
                return .failed(.configuration(APNsReason(rawValue: "provider token: \(reason)")))
            } catch {
                return .failed(.later(after: nil, reason: "provider token unavailable"))
            }
            answer = await exchange(request, key, id: id, token: token, by: deadline)
            switch answer {
            case .failed(.notProcessed): continue
            case .failed(.providerTokenExpired) where attempt == 0:
                await providerTokens.refused(token, for: credential, as: .expired)
                let next = try? await providerTokens.token(for: credential)
                guard let next, next != token else { return answer }
            case .failed(.tooManyProviderTokenUpdates) where attempt == 0:
                await drop(key)
            case .failed(.later(_, let reason)) where reason.replacesConnection && attempt == 0:
                await drop(key)
            default: return answer
            }
        }
        return answer
    }

    /// Closes all connections; later requests are answered as not processed.
    package func close() async {
        isClosed = true
        for key in Array(clients.keys) { await drop(key) }
    }

    private func drop(_ key: Key) async {
        tokens[key] = nil
        await clients.removeValue(forKey: key)?.close()
    }

    private func exchange(
        _ request: ChannelRequest,
        _ key: Key,
        id: APNsID,
        token: String,
        by deadline: ContinuousClock.Instant
    ) async -> ChannelAnswer {
        do throws(HTTP2Error) {
            let client = try await client(key, token: token, by: deadline)
            var fields = HTTPFields()
            fields.append("authorization", "bearer \(token)")
            for (name, value) in request.fields(id: id) { fields.append(name, value) }
            if !request.body.isEmpty { fields.append("content-type", "application/json") }
            let response = try await client.send(
                HTTPRequest(
                    method: request.method,
                    scheme: "",
                    authority: "",
                    target: request.path,
                    fields: fields,
                    body: request.body
                ),
                by: deadline
            )
            let answer = ChannelAnswer(
                to: request,
                status: response.status,
                channelID: response.fields["apns-channel-id"],
                body: response.body,
                retryAfter: response.fields["retry-after"]
            )
            if case .failed(.later) = answer,
                Outcome.isForeign(status: response.status, reason: ErrorAnswer(response.body).reason)
            {
                say(StrangeAnswer.status(response.status).sentence, key)
            }
            return answer
        } catch {
            sayFailed(error, key)
            switch error {
            case .notProcessed, .deadlinePassed(written: false), .cannotConnect: return .failed(.notProcessed)
            default:
                await drop(key)
                return .failed(.unknown(error.description))
            }
        }
    }

    /// Nobody else learns why: channel calls only end as not processed or unknown.
    private func sayFailed(_ error: HTTP2Error, _ key: Key) {
        switch error {
        case .cannotConnect, .connectionLost: say("cannot be asked about channels: \(error)", key)
        case .malformedResponse: say(StrangeAnswer.malformed("\(error)").sentence, key)
        case .notProcessed, .streamReset, .deadlinePassed, .responseTooLarge, .library: break
        }
    }

    private func say(_ sentence: String, _ key: Key) {
        let endpoint = configuration.endpoints[key.environment, .manage]
        let place = "\(endpoint.host):\(endpoint.port)"
        guard !isClosed, reporter.say("\(place) \(sentence)") else { return }
        configuration.log.warning("channels cannot be managed", ["host": place, "reason": sentence])
    }

    private func client(
        _ key: Key,
        token: String,
        by deadline: ContinuousClock.Instant
    ) async throws(HTTP2Error) -> HTTP2Client {
        if let client = clients[key] {
            let mayCarry = tokens[key, default: ConnectionTokens()].mayCarry(token)
            if await client.isUsable, mayCarry { return client }
            await drop(key)
        }
        var connection = configuration.connection
        connection.wantedFields = nil
        connection.wantedErrorFields = nil
        connection.maxBodyBytes = 4 << 20
        let endpoint = configuration.endpoints[key.environment, .manage]
        let client = try await HTTP2Client.connect(
            host: endpoint.host,
            port: endpoint.port,
            tls: configuration.tls,
            on: loop,
            by: min(deadline, .now + configuration.connectTimeout),
            configuration: connection
        )
        if let other = clients[key], await other.isUsable {
            // Another request has connected meanwhile, and has perhaps sent something on it.
            await client.close()
            return other
        }
        clients[key] = client
        var fresh = ConnectionTokens()
        _ = fresh.mayCarry(token)
        tokens[key] = fresh
        if isClosed { await drop(key) }
        return client
    }
}
