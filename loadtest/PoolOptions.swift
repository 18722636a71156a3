/// The flags of `loadtest pool`.
struct PoolOptions {
    var pushes = 1_000_000
    var connections = 2
    var streams = 1000
    var payloadBytes = 402
    var batch = 500
    var loops = 1
    var jsonFile: String?
    var simulatorReadyFile: String?
    var target: String?
    var caFile: String?
    var isFaithful = false
    var roundTripMilliseconds = 0
    var faultsFile: String?
    var deadlineSeconds = 60
    var wantsHelp = false

    static let help = """
        usage: loadtest pool [--pushes N] [--connections N] [--streams N] [--payload-bytes N] [--json FILE] …

        Sends pushes through Touchline's sender pool, closed loop: as many as the streams hold, and the next when one has
        ended. Starts the executable apns-simulator beside it as a light sink (--lean) in another process, and ends it.

          --pushes N             in all (1000000)
          --connections N        of the lane, at most (2)
          --streams N            a connection, at most; the peer's limit counts too (1000)
          --payload-bytes N      the body of each push, 80 to 4096 (402)
          --batch N              pushes a call of the pool (500)
          --loops N              threads of the pool (1)
          --deadline SECONDS     of each batch (60)
          --json FILE            the figures, for programs; - is standard output
          --faithful             the whole simulator instead of the light sink: it checks every push, and counts doubles
          --rtt MS               a round trip that the simulator adds, as the way to Apple would (0)
          --faults FILE          rules for the simulator, as its control API takes them
          --simulator FILE       the ready-file of a simulator that runs already
          --target HOST:PORT     another listener that speaks HTTP/2 over TLS, such as nghttpd; its answers count, not its sums
          --ca FILE              the roots to trust with --target

        Latencies count from the moment a batch was handed to the pool. A figure is marked where the sink's process was
        the busier one.

        example: loadtest pool --pushes 100000 --connections 4 --json figures.json

        """

    init(_ arguments: [String]) throws(Misuse) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if takeSwitch(parts[0], hasValue: parts.count > 1) { continue }
            guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
                throw Misuse(message: "\(parts[0]) is no flag, or needs a value")
            }
            try take(parts[0], value)
        }
        if target != nil, simulatorReadyFile != nil || faultsFile != nil || isFaithful {
            throw Misuse(message: "--target excludes --simulator, --faithful and --faults")
        }
        if roundTripMilliseconds > 0, target != nil || simulatorReadyFile != nil {
            throw Misuse(message: "--rtt is for a simulator that is started here")
        }
        if let target, target.split(separator: ":").first?.hasSuffix("push.apple.com") == true {
            throw Misuse(message: "\(target) is Apple's: load tests do not go there")
        }
    }

    private mutating func takeSwitch(_ flag: String, hasValue: Bool) -> Bool {
        switch flag {
        case "--help" where !hasValue, "-h" where !hasValue: wantsHelp = true
        case "--faithful" where !hasValue: isFaithful = true
        default: return false
        }
        return true
    }

    private mutating func take(_ flag: String, _ value: String) throws(Misuse) {
        switch flag {
        case "--pushes": pushes = try Self.number(flag, value, 1...1_000_000_000)
        case "--connections": connections = try Self.number(flag, value, 1...1000)
        case "--streams": streams = try Self.number(flag, value, 1...100_000)
        case "--payload-bytes": payloadBytes = try Self.number(flag, value, 80...4096)
        case "--batch": batch = try Self.number(flag, value, 1...100_000)
        case "--loops": loops = try Self.number(flag, value, 1...64)
        case "--deadline": deadlineSeconds = try Self.number(flag, value, 1...3600)
        case "--rtt": roundTripMilliseconds = try Self.number(flag, value, 0...10_000)
        case "--json": jsonFile = value
        case "--simulator": simulatorReadyFile = value
        case "--target": target = value
        case "--ca": caFile = value
        case "--faults": faultsFile = value
        default: throw Misuse(message: "unknown flag \(flag)")
        }
    }

    private static func number(_ flag: String, _ value: String, _ range: ClosedRange<Int>) throws(Misuse) -> Int {
        guard let number = Int(value), range.contains(number) else {
            throw Misuse(message: "\(flag) takes \(range.lowerBound) to \(range.upperBound), not \(value)")
        }
        return number
    }
}
