package import EventLoop
internal import Glibc

/// Connects a TCP socket on a loop: resolves the name anew, then tries its addresses, the next beside the last where that
/// takes long; ``AddressRace`` says when.
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
    ///   - loop: Waits for the sockets.
    ///   - deadline: For lookup and connect.
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
        if Task.isCancelled { throw .cannotConnect("cancelled") }
        let result = await withCheckedContinuation { continuation in
            Attempts(AddressRace.interleaved(addresses), on: loop, continuation).begin(by: deadline)
        }
        switch result {
        case .success(let descriptor): return descriptor
        case .failure(let failure): throw .cannotConnect(failure.reason)
        }
    }

    /// Closes a descriptor that nobody wants any more.
    package static func discard(_ descriptor: Int32) { close(descriptor) }

    private struct Failure: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        init(_ address: SocketAddress, code: Int32) { reason = "\(address): \(String(cString: strerror(code)))" }
    }

    /// The sockets that are being connected. Their watches and the timers hold it until one of them is writable, all have
    /// failed, or the time is up.
    private final class Attempts {
        private let addresses: [SocketAddress]
        private let loop: EventLoop
        private var continuation: CheckedContinuation<Result<Int32, Failure>, Never>?
        private var race: AddressRace
        private var sockets: [Int: (descriptor: Int32, watch: Watch)] = [:]
        private var nextStart: TimerID?
        private var timeUp: TimerID?
        private var failure = Failure("no address")

        init(
            _ addresses: [SocketAddress],
            on loop: EventLoop,
            _ continuation: CheckedContinuation<Result<Int32, Failure>, Never>
        ) {
            self.addresses = addresses
            self.loop = loop
            self.continuation = continuation
            race = AddressRace(count: addresses.count)
        }

        func begin(by deadline: ContinuousClock.Instant) {
            timeUp = loop.schedule(at: deadline) {
                let silent = self.sockets.keys.sorted().map { "\(self.addresses[$0])" }
                self.finish(.failure(Failure("\(silent.joined(separator: ", ")): no connection in time")))
            }
            startDue()
        }

        private func startDue() {
            if let nextStart { loop.cancel(nextStart) }
            nextStart = nil
            while continuation != nil, let index = race.start(now: .now) { start(index) }
            guard continuation != nil else { return }
            if race.isLost { return finish(.failure(failure)) }
            nextStart = race.nextStart.map { instant in loop.schedule(at: instant) { self.startDue() } }
        }

        private func start(_ index: Int) {
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(addresses[index].family, type, 0)
            guard descriptor >= 0 else { return failed(index, code: errno) }
            if addresses[index].withSockAddr({ Glibc.connect(descriptor, $0, $1) }) == 0 {
                return finish(.success(descriptor))
            }
            let code = errno
            guard code == EINPROGRESS else {
                close(descriptor)
                return failed(index, code: code)
            }
            do throws(EventLoopError) {
                let watch = try loop.watch(descriptor, for: .write) { _ in self.ended(index) }
                sockets[index] = (descriptor, watch)
            } catch {
                close(descriptor)
                failure = Failure("\(error)")
                race.failed()
            }
        }

        private func failed(_ index: Int, code: Int32) {
            failure = Failure(addresses[index], code: code)
            race.failed()
        }

        /// The socket is connected, or has failed.
        private func ended(_ index: Int) {
            guard let (descriptor, watch) = sockets.removeValue(forKey: index) else { return }
            loop.unwatch(watch)
            var code: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
            if code == 0 { return finish(.success(descriptor)) }
            close(descriptor)
            failed(index, code: code)
            startDue()
        }

        private func finish(_ result: Result<Int32, Failure>) {
            for timer in [nextStart, timeUp] { if let timer { loop.cancel(timer) } }
            nextStart = nil
            timeUp = nil
            for (descriptor, watch) in sockets.values {
                loop.unwatch(watch)
                close(descriptor)
            }
            sockets = [:]
            continuation?.resume(returning: result)
            continuation = nil
        }
    }
}
