import APNsSimulator

/// The flags of `apns-simulator`.
struct SimulatorOptions {
    var configuration = SimulatorConfiguration()
    var readyFile: String?
    var wantsHelp = false

    /// What is wrong with the flags; exit code 2.
    struct Misuse: Error {
        let message: String
    }

    init(_ arguments: [String]) throws(Misuse) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let flag = String(parts[0])
            let joined = parts.count > 1 ? String(parts[1]) : nil
            if try takeSwitch(flag, joined) { continue }
            guard Self.valueFlags.contains(flag) else { throw Misuse(message: "unknown flag \(flag)") }
            guard let value = joined ?? rest.popFirst() else { throw Misuse(message: "\(flag) needs a value") }
            try take(flag, value)
        }
    }

    private static let portFlags: [String: SimulatorConfiguration.Endpoint] = [
        "--production-push": .init(.production, .push),
        "--production-manage": .init(.production, .manage),
        "--sandbox-push": .init(.sandbox, .push),
        "--sandbox-manage": .init(.sandbox, .manage),
    ]

    private static let valueFlags =
        [
            "--dir", "--log", "--profile", "--rtt", "--seed", "--ready-file", "--control", "--team-id", "--key-id",
            "--loops", "--max-streams", "--initial-streams", "--disconnect-after-bad-tokens",
        ] + portFlags.keys

    private mutating func takeSwitch(_ flag: String, _ value: String?) throws(Misuse) -> Bool {
        switch flag {
        case "--lean": configuration.isLean = true
        case "--count-doubles": configuration.countsDoubles = true
        case "--count-reordered": configuration.countsOrder = true
        case "--keep-stream-limit": configuration.lowersStreamLimit = false
        case "--help", "-h": wantsHelp = true
        default: return false
        }
        guard value == nil else { throw Misuse(message: "\(flag) takes no value") }
        return true
    }

    private mutating func take(_ flag: String, _ value: String) throws(Misuse) {
        if let endpoint = Self.portFlags[flag] {
            configuration.ports[endpoint] = try Self.port(value, flag)
            return
        }
        switch flag {
        case "--dir": configuration.directory = value
        case "--log": configuration.requestFile = value
        case "--profile":
            guard let profile = SimulatorProfile(rawValue: value) else {
                throw Misuse(message: "--profile is observed or documented, not \(value)")
            }
            configuration.profile = profile
        case "--rtt": configuration.roundTrip = .milliseconds(try Self.number(value, flag, 0...60_000))
        case "--seed":
            guard let seed = UInt64(value) else {
                throw Misuse(message: "--seed is a whole number from 0, not \(value)")
            }
            configuration.seed = seed
        case "--ready-file": readyFile = value
        case "--control": configuration.controlPort = try Self.port(value, flag)
        case "--team-id": configuration.credential.teamID = try Self.identifier(value, flag)
        case "--key-id": configuration.credential.keyID = try Self.identifier(value, flag)
        case "--loops": configuration.leanLoops = try Self.number(value, flag, 1...64)
        case "--initial-streams": configuration.initialStreams = try Self.number(value, flag, 1...100_000)
        case "--max-streams": configuration.maxConcurrentStreams = try Self.number(value, flag, 1...100_000)
        default: configuration.mostBadTokens = try Self.number(value, flag, 1...1_000_000)
        }
    }

    private static func port(_ text: String, _ flag: String) throws(Misuse) -> Int {
        try number(text, flag, 0...65_535)
    }

    private static func number(_ text: String, _ flag: String, _ range: ClosedRange<Int>) throws(Misuse) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw Misuse(message: "\(flag) is a number from \(range.lowerBound) to \(range.upperBound), not \(text)")
        }
        return number
    }

    private static func identifier(_ text: String, _ flag: String) throws(Misuse) -> String {
        let isPlain =
            text.utf8.count == 10 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        guard isPlain else { throw Misuse(message: "\(flag) is ten capital letters and digits, not \(text)") }
        return text
    }

    static let help = """
        usage: apns-simulator [options]

        A faithful Apple Push Notification service for one machine: for each environment
        a push and broadcast listener and a management listener (HTTP/2 over TLS, on
        127.0.0.1), and a control API that scripts faults and shows phones.

          --dir DIR             certificates and the credential's .p8 are written there,
                                new ones at each start
                                (else a temporary folder, removed at the end)
          --ready-file FILE     written when all listeners take connections: addresses,
                                ca_file, credential, as JSON
          --production-push PORT, --production-manage PORT,
          --sandbox-push PORT, --sandbox-manage PORT, --control PORT
                                ports; free ones unless given
          --log FILE            append every request with its answer, a line of JSON each (not
                                with --lean)
          --team-id ID, --key-id ID
                                the names of the credential (SIMTEAM001, SIMKEY0001)
          --profile observed|documented
                                the strings of the live service where they differ from
                                Apple's pages (the default), or those of Apple's pages
          --rtt MS              delay every byte of the answers by a round trip
          --seed N              the same channel ids, ids and shares of faults each run
          --lean                accept pushes unread: a light sink for measuring senders
          --loops N             threads of the lean listeners (the cores less one, at most 4)
          --count-doubles       with --lean: read each push's apns-id, and count those that
                                were accepted before
          --count-reordered     with --lean: count pushes that were accepted after one with a
                                higher apns-id for the same token, by its last 8 digits
          --max-streams N       the stream limit after the first valid provider token
                                (1000)
          --initial-streams N   before that (1, as Apple); for load generators that do
                                not know to wait
          --keep-stream-limit   do not lower the limit to 1 after a rejected push
          --disconnect-after-bad-tokens N
                                end a connection that produced so many BadDeviceToken

        example: apns-simulator --seed 1 --ready-file /tmp/apns.json
                 curl http://127.0.0.1:<control port>/_sim/counts

        """
}
