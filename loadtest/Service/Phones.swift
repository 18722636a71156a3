internal import Core
internal import EventLoop
internal import Executables

/// Update tokens and activities by number, the same for one seed, and the calls that make them known.
struct Phones: Sendable {
    let seed: Int

    /// 64 hex digits.
    func token(_ number: Int, match: Int) -> String {
        var text = ""
        var state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(match) << 32 &+ UInt64(number)
        for _ in 0..<4 {
            // SplitMix64.
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            word ^= word >> 31
            let digits = String(word, radix: 16)
            text += String(repeating: "0", count: 16 - digits.count) + digits
        }
        return text
    }

    /// Lines for `POST …/activities`.
    func lines(_ numbers: Range<Int>, match: Int) -> [UInt8] {
        var text = ""
        text.reserveCapacity(numbers.count * 200)
        for number in numbers {
            text += #"{"activity":"a-\#(number)","token":"\#(token(number, match: match))","#
            text += #""environment":"\#(ServiceStage.environment)","frequent_pushes_enabled":true}"# + "\n"
        }
        return Array(text.utf8)
    }

    /// The body of one `PUT …/activities/a-N`.
    func body(_ number: Int, match: Int) -> [UInt8] {
        Array(
            (#"{"token":"\#(token(number, match: match))","environment":"\#(ServiceStage.environment)","#
                + #""frequent_pushes_enabled":true}"#).utf8
        )
    }

    /// Registers many at once.
    ///
    /// - Returns: How many were stored.
    func register(_ numbers: Range<Int>, with match: ServiceStage.Match) async throws(Failure) -> Int {
        let answer = try await match.api.send(
            "POST",
            match.path("activities"),
            bytes: lines(numbers, match: match.number),
            type: "application/x-ndjson",
            timeout: .seconds(60)
        )
        return answer.text.split(separator: "\n").count { $0.contains(#""stored""#) }
    }
}

extension SimulatorControl {
    /// What all phones show, and what came of their pushes.
    struct Summary: Decodable, Sendable {
        struct Shown: Decodable, Sendable {
            struct State: Decodable, Sendable {
                let home: Int
                let away: Int
            }

            let content_state: State?
            let count: Int
        }

        struct Dropped: Decodable, Sendable {
            let older: Int
            let undecodable: Int
        }

        let phones: Int
        let shows: [Shown]
        let doubled_alerts: Int?
        let dropped: Dropped?

        /// Phones that show what they have to.
        func right(_ states: [MatchState]) -> Int {
            let wanted = Dictionary(states.map { ($0.match, $0.score) }) { $1 }
            return shows.reduce(0) { sum, shown in
                guard let state = shown.content_state, wanted[state.away] == state.home else { return sum }
                return sum + shown.count
            }
        }
    }

    func summary() async throws(Failure) -> Summary { try await api.send("GET", "/_sim/summary").decode() }

    /// Registers phones on tokens and on channels.
    ///
    /// - Parameters:
    ///   - phones: `{"token"}` or `{"channel","count"}`.
    ///   - environment: Where their app is.
    ///   - contract: What they decode.
    ///   - urgentPerHour: Their budget, where it is not the simulator's own.
    /// - Throws: ``Failure`` of the call.
    func register(
        _ phones: [JSONOutput],
        in environment: String = ServiceStage.environment,
        decoding contract: JSONOutput = ServiceStage.contract,
        urgentPerHour: Int? = nil
    ) async throws(Failure) {
        for start in stride(from: 0, to: phones.count, by: 5_000) {
            var body: [(String, JSONOutput)] = [
                ("environment", .string(environment)),
                ("phones", .array(Array(phones[start..<min(start + 5_000, phones.count)]))),
                ("content_state", contract),
            ]
            if let urgentPerHour { body.append(("urgent_per_hour", .int(urgentPerHour))) }
            _ = try await api.send("POST", "/_sim/phones", .object(body))
        }
    }
}
