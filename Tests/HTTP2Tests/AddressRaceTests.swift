import EventLoop
import Glibc
import TestSupport
import Testing

@testable import HTTP2

@Suite("Which of a host's addresses is tried when")
struct AddressRaceTests {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test("the next after a quarter of a second, or at once where the last has failed")
    func order() {
        var race = AddressRace(count: 3)
        expect(race.start(now: at(0)), 0)
        expect(race.start(now: at(0)), nil)
        #expect(race.nextStart == at(250))
        expect(race.start(now: at(249)), nil)
        expect(race.start(now: at(250)), 1)
        expect(race.start(now: at(250)), nil)
        race.failed()
        expect(race.start(now: at(260)), 2)
        #expect(race.nextStart == nil)
        #expect(!race.isLost)
        race.failed()
        race.failed()
        expect(race.start(now: at(300)), nil)
        #expect(race.isLost)
        #expect(AddressRace(count: 0).isLost)
    }

    @Test("families in turn, the first one's first")
    func families() throws {
        func address(_ text: String) throws -> SocketAddress { try #require(SocketAddress(literal: text, port: 443)) }
        let addresses = try ["::1", "::2", "::3", "10.0.0.1"].map(address)
        #expect(
            AddressRace.interleaved(addresses).map(\.description)
                == ["[::1]:443", "10.0.0.1:443", "[::2]:443", "[::3]:443"]
        )
        #expect(AddressRace.interleaved([]).isEmpty)
    }
}

@Suite("Connecting to a host of several addresses", .timeLimit(.minutes(1)))
struct ConnectorTests {
    /// A listener whose queue is full drops each further SYN, as a black hole does.
    private final class BlackHole {
        let address: SocketAddress
        private var descriptors: [Int32] = []

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            descriptors.append(listener)
            _ = SocketAddress.loopback(port: 0).withSockAddr { bind(listener, $0, $1) }
            _ = listen(listener, 0)
            var bound = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &bound) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(listener, $0, &length) }
            }
            address = .loopback(port: Int(UInt16(bigEndian: bound.sin_port)))
            for _ in 0..<2 {
                let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
                descriptors.append(client)
                _ = address.withSockAddr { connect(client, $0, $1) }
            }
        }

        deinit { for descriptor in descriptors { close(descriptor) } }
    }

    private actor OnLoop {
        nonisolated var unownedExecutor: UnownedSerialExecutor { TestLoops.near.asUnownedSerialExecutor() }

        func connect(_ addresses: [SocketAddress], within time: Duration) async throws -> Duration {
            let clock = ContinuousClock.now
            let descriptor = try await Connector.connect(
                host: "apns",
                port: 1,
                on: TestLoops.near,
                by: .now + time,
                lookup: { _, _, _ in addresses }
            )
            Connector.discard(descriptor)
            return .now - clock
        }
    }

    @Test("one that swallows everything costs a quarter of a second, wherever it stands", arguments: [0, 1])
    func blackHole(place: Int) async throws {
        let hole = try BlackHole()
        let server = try await ScriptedHTTP2Server.start(on: TestLoops.far)
        var addresses = [SocketAddress.loopback(port: server.port)]
        addresses.insert(hole.address, at: place)
        // A share of the whole deadline for each would be a half of this.
        let time = try await OnLoop().connect(addresses, within: Patience.long)
        #expect(time < .seconds(10))
        if place == 0 { #expect(time >= AddressRace.delay) }
        await server.stop()
    }

    @Test("where none answers, all are named, and the deadline holds")
    func noneAnswers() async throws {
        let holes = [try BlackHole(), try BlackHole()]
        let error = await #expect(throws: HTTP2Error.self) {
            try await OnLoop().connect(holes.map(\.address), within: .milliseconds(600))
        }
        #expect(error?.description.contains("\(holes[0].address), \(holes[1].address): no connection in time") == true)
    }

    @Test("one that refuses is passed over at once, and the last reason is told")
    func refusals() async throws {
        let dead = try await ScriptedHTTP2Server.start(on: TestLoops.far)
        await dead.stop()
        let server = try await ScriptedHTTP2Server.start(on: TestLoops.far)
        let refused = SocketAddress.loopback(port: dead.port)
        _ = try await OnLoop().connect([refused, .loopback(port: server.port)], within: Patience.long)
        let error = await #expect(throws: HTTP2Error.self) {
            try await OnLoop().connect([refused, refused], within: Patience.long)
        }
        #expect(error?.description.contains("refused") == true)
        await server.stop()
    }
}
