internal import CLinux
internal import Glibc

/// Why a name has no address.
package enum ResolverError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `getaddrinfo` said so, in its words.
    case notFound(host: String, reason: String)
    case deadlinePassed(host: String)
    /// Too many lookups wait already: the name server hangs.
    case overloaded

    package var description: String {
        switch self {
        case .notFound(let host, let reason): "cannot resolve \(host): \(reason)"
        case .deadlinePassed(let host): "cannot resolve \(host) in time"
        case .overloaded: "too many name lookups wait"
        }
    }
}

/// Names to addresses, off the loops and uncached: each new connection to APNs asks anew, which spreads the load
/// (Apple, "Establishing a connection to APNs").
package enum Resolver {
    /// A blocked `getaddrinfo` cannot be cancelled, and each has a thread: past 32 of them, lookups wait their turn.
    private static let queue = ThreadLock(LookupQueue<Lookup>(mostAtOnce: 32, mostWaiting: 1_000))

    /// Looks up the addresses of `host`. The answer is given up at `deadline`; the lookup's thread may outlive it.
    ///
    /// - Returns: The addresses in the order in which they should be tried; never empty.
    /// - Throws: ``ResolverError`` when there is none, or none in time.
    package static func resolve(
        host: String,
        port: Int,
        by deadline: ContinuousClock.Instant
    ) async throws(ResolverError) -> [SocketAddress] {
        if let literal = SocketAddress(literal: host, port: port) { return [literal] }
        let lookup = Lookup(host: host, port: port)
        let answer = await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(until: deadline, clock: .continuous)
                lookup.finish(.failure(.deadlinePassed(host: host)))
            }
            let answer = await withCheckedContinuation { continuation in
                lookup.wait(continuation)
                switch queue.withLock({ $0.admit(lookup) { $0.isAwaited } }) {
                case .runs: run(lookup)
                case .waits: break
                case .refused: lookup.finish(.failure(.overloaded))
                }
            }
            group.cancelAll()
            return answer
        }
        return try answer.get()
    }

    private static func run(_ lookup: Lookup) {
        let box = Unmanaged.passRetained(lookup)
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            &attributes,
            { context in
                guard let context else { return nil }
                var lookup: Lookup? = Unmanaged<Lookup>.fromOpaque(context).takeRetainedValue()
                while let current = lookup {
                    current.run()
                    lookup = Resolver.next()
                }
                return nil
            },
            box.toOpaque()
        )
        pthread_attr_destroy(&attributes)
        guard code != 0 else { return }
        box.release()
        // Whoever waits for this one's end would wait in vain.
        var refused: Lookup? = lookup
        while let current = refused {
            current.finish(.failure(.overloaded))
            refused = next()
        }
    }

    private static func next() -> Lookup? { queue.withLock { $0.next { $0.isAwaited } } }
}

/// One `getaddrinfo` on a thread of its own, answered once: by its result or by the deadline.
private final class Lookup: Sendable {
    typealias Answer = Result<[SocketAddress], ResolverError>
    private enum State {
        case idle
        case waiting(CheckedContinuation<Answer, Never>)
        case finished(Answer)
    }

    private let host: String
    private let port: Int
    private let state = ThreadLock(State.idle)

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    var isAwaited: Bool {
        state.withLock { if case .waiting = $0 { true } else { false } }
    }

    func wait(_ continuation: CheckedContinuation<Answer, Never>) {
        let earlier: Answer? = state.withLock { state in
            if case .finished(let answer) = state { return answer }
            state = .waiting(continuation)
            return nil
        }
        if let earlier { continuation.resume(returning: earlier) }
    }

    /// Blocks its thread.
    func run() { finish(Lookup.getAddresses(host: host, port: port)) }

    func finish(_ answer: Answer) {
        let waiting: CheckedContinuation<Answer, Never>? = state.withLock { state in
            switch state {
            case .idle:
                state = .finished(answer)
                return nil
            case .waiting(let continuation):
                state = .finished(answer)
                return continuation
            case .finished: return nil
            }
        }
        waiting?.resume(returning: answer)
    }

    private static func getAddresses(host: String, port: Int) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard code == 0 else {
            return .failure(.notFound(host: host, reason: String(cString: gai_strerror(code))))
        }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ai_addr {
                addresses.append(SocketAddress(copying: address, length: entry.pointee.ai_addrlen))
            }
            next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else { return .failure(.notFound(host: host, reason: "no address")) }
        return .success(addresses)
    }
}
