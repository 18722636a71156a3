package import EventLoop
internal import Glibc

/// Connects a TCP socket on a loop: resolves the name anew, then tries its addresses in order.
package enum Connector {
    /// Finds a host's addresses, in the order in which they are tried.
    package typealias Lookup =
        @Sendable (_ host: String, _ port: Int, _ deadline: ContinuousClock.Instant) async throws(ResolverError)
        -> [SocketAddress]

    /// Resolves and connects. The caller runs on `loop`, and so does everything that comes after the lookup.
    ///
    /// - Parameters:
    ///   - host: A name or a literal address; never answered from a cache of ours.
    ///   - port: 1 to 65535.
    ///   - loop: Waits for the socket.
    ///   - deadline: For lookup and connect; each address gets an equal share of what is left.
    ///   - lookup: Finds the addresses.
    /// - Returns: A connected, non-blocking descriptor, the caller's to close.
    /// - Throws: ``HTTP2Error/cannotConnect(_:)`` with the last address's reason.
    package static func connect(
        host: String,
        port: Int,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant,
        lookup: Lookup = Resolver.resolve
    ) async throws(HTTP2Error) -> Int32 {
        let addresses: [SocketAddress]
        do throws(ResolverError) {
            addresses = try await lookup(host, port, deadline)
        } catch {
            throw .cannotConnect("\(error)")
        }
        var reason = "no address"
        for (index, address) in addresses.enumerated() {
            let left = ContinuousClock.now.duration(to: deadline)
            let share = ContinuousClock.now + left / (addresses.count - index)
            switch await connect(to: address, on: loop, by: share) {
            case .success(let descriptor): return descriptor
            case .failure(let failure): reason = "\(address): \(failure.reason)"
            }
            if ContinuousClock.now >= deadline || Task.isCancelled { break }
        }
        throw .cannotConnect(reason)
    }

    /// Closes a descriptor that nobody wants any more.
    package static func discard(_ descriptor: Int32) { close(descriptor) }

    private struct Failure: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        init(code: Int32) { reason = String(cString: strerror(code)) }
    }

    private static func connect(
        to address: SocketAddress,
        on loop: EventLoop,
        by deadline: ContinuousClock.Instant
    ) async -> Result<Int32, Failure> {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { return .failure(Failure(code: errno)) }
        let started = address.withSockAddr { Glibc.connect(descriptor, $0, $1) }
        if started == 0 { return .success(descriptor) }
        guard errno == EINPROGRESS else {
            let code = errno
            close(descriptor)
            return .failure(Failure(code: code))
        }
        let failure: Failure? = await withCheckedContinuation { continuation in
            let attempt = Attempt(continuation, loop: loop)
            attempt.start(descriptor, by: deadline)
        }
        guard let failure else { return .success(descriptor) }
        close(descriptor)
        return .failure(failure)
    }

    /// Waits for one socket: writable or failed, or out of time; whichever comes first.
    private final class Attempt {
        private var continuation: CheckedContinuation<Failure?, Never>?
        private let loop: EventLoop
        private var watch: Watch?
        private var timer: TimerID?

        init(_ continuation: CheckedContinuation<Failure?, Never>, loop: EventLoop) {
            self.continuation = continuation
            self.loop = loop
        }

        /// The watch and the timer hold us until one of them fires.
        func start(_ descriptor: Int32, by deadline: ContinuousClock.Instant) {
            timer = loop.schedule(at: deadline) { self.finish(Failure("no connection in time")) }
            do throws(EventLoopError) {
                watch = try loop.watch(descriptor, for: .write) { _ in
                    var code: Int32 = 0
                    var length = socklen_t(MemoryLayout<Int32>.size)
                    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
                    self.finish(code == 0 ? nil : Failure(code: code))
                }
            } catch {
                finish(Failure("\(error)"))
            }
        }

        private func finish(_ failure: Failure?) {
            if let timer { loop.cancel(timer) }
            timer = nil
            // Its handler holds us.
            if let watch { loop.unwatch(watch) }
            watch = nil
            continuation?.resume(returning: failure)
            continuation = nil
        }
    }
}
