import TestSupport

/// What a server might send to ``SentRequests``, and what a broken one makes of that.
struct ServerScript {
    private typealias Server = ScriptedHTTP2Server

    private var random: SeededRandom
    private(set) var frames: [[UInt8]] = []

    /// - Parameter seed: Says everything.
    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        frames = [Server.settings(chance(2) ? [] : [(3, 100), (4, 70_000)]), Server.frame(type: 4, flags: 1, [])]
        for stream in SentRequests.streams.shuffled(using: &random) where !chance(6) { answer(stream) }
        for _ in 0..<number(0...3) { insert(between()) }
        // One in four stays as it is.
        for _ in 0..<number(0...3) { mutate() }
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    /// Once in so many times.
    private mutating func chance(_ times: Int) -> Bool { number(1...times) == 1 }

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0...values.count - 1)] }

    private mutating func insert(_ frame: [UInt8]) { frames.insert(frame, at: number(1...frames.count)) }

    // MARK: - Answers

    private mutating func answer(_ stream: Int32) {
        if chance(5) {
            addBlock(stream, status(pick([100, 103])) + (chance(2) ? field("link", "x") : []), ends: false)
        }
        let body = [UInt8](repeating: 0x78, count: pick([0, 0, 1, 20, 300, 5000]))
        let code = pick([200, 200, 200, 204, 304, 400, 410, 429, 503])
        let mayHaveBody = code != 204 && code != 304 && stream != 7
        var block = status(code)
        for _ in 0..<number(0...3) { block += regular() }
        if chance(3), mayHaveBody { block += field("content-length", String(body.count)) }
        guard mayHaveBody, !body.isEmpty || chance(4) else { return addBlock(stream, block, ends: true) }
        addBlock(stream, block, ends: false)
        let hasTrailers = chance(5)
        var rest = body[...]
        repeat {
            let part = rest.prefix(chance(2) ? rest.count : number(0...200))
            rest = rest.dropFirst(part.count)
            addData(stream, Array(part), ends: rest.isEmpty && !hasTrailers)
        } while !rest.isEmpty
        if hasTrailers { addBlock(stream, regular(), ends: true) }
    }

    /// A header block, perhaps in several frames, padded, or with a priority.
    private mutating func addBlock(_ stream: Int32, _ block: [UInt8], ends: Bool) {
        var payload = block
        var flags: UInt8 = ends ? 1 : 0
        let cut = chance(5) ? number(0...block.count) : block.count
        payload = Array(block[..<cut])
        if chance(8) {
            payload = [0, 0, 0, UInt8(number(0...9)), 15] + payload
            flags |= 0x20
        }
        pad(&payload, &flags)
        if cut == block.count, !chance(10) {
            frames.append(Server.frame(type: 1, flags: flags | 4, stream: stream, payload))
            return
        }
        frames.append(Server.frame(type: 1, flags: flags, stream: stream, payload))
        let middle = number(cut...block.count)
        if chance(2) { frames.append(Server.frame(type: 9, stream: stream, Array(block[cut..<middle]))) }
        let last = frames.last?[3] == 9 ? middle : cut
        frames.append(Server.frame(type: 9, flags: 4, stream: stream, Array(block[last...])))
    }

    private mutating func addData(_ stream: Int32, _ bytes: [UInt8], ends: Bool) {
        var payload = bytes
        var flags: UInt8 = ends ? 1 : 0
        pad(&payload, &flags)
        frames.append(Server.frame(type: 0, flags: flags, stream: stream, payload))
    }

    private mutating func pad(_ payload: inout [UInt8], _ flags: inout UInt8) {
        guard chance(6) else { return }
        let count = number(0...30)
        payload = [UInt8(count)] + payload + Array(repeating: 0, count: count)
        flags |= 8
    }

    private mutating func status(_ code: Int) -> [UInt8] {
        if let place = [200, 204, 206, 304, 400, 404, 500].firstIndex(of: code), !chance(4) {
            return [0x88 + UInt8(place)]
        }
        return field(":status", String(code))
    }

    private mutating func regular() -> [UInt8] {
        // 0xBE names what entered the table last.
        if chance(6) { return [0xBE] }
        return field(
            pick(["apns-id", "date", "retry-after", "x"]),
            pick(["", "1", "EC1BF194-B3B2-424A", "a b\t\u{FF}"])
        )
    }

    private mutating func field(_ name: String, _ value: String) -> [UInt8] {
        [pick([0, 0x40, 0x10])] + [UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)]
            + Array(value.utf8)
    }

    // MARK: - What comes between

    private mutating func between() -> [UInt8] {
        let stream = pick(SentRequests.streams)
        switch number(0...9) {
        case 0: return Server.frame(type: 6, flags: UInt8(number(0...1)), Array(1...8))
        case 1: return Server.windowUpdate(UInt32(number(1...100_000)))
        case 2: return Server.windowUpdate(UInt32(number(1...100_000)), stream: stream)
        case 3: return Server.frame(type: 2, stream: stream, [0, 0, 0, 9, 1])
        case 4: return Server.frame(type: UInt8(number(10...255)), flags: 0xFF, stream: stream, [1, 2, 3])
        case 5: return Server.reset(stream, code: UInt32(number(0...14)))
        case 6: return Server.goAway(lastStream: pick([0, 1, 3, 5, 7, .max]), debug: pick(["", "x"]))
        default: return Server.settings([setting()])
        }
    }

    private mutating func setting() -> (id: UInt16, value: UInt32) {
        let settings: [(id: UInt16, value: UInt32)] = [
            (1, UInt32(number(0...5000))), (2, 0), (3, UInt32(number(0...200))), (4, UInt32(number(0...200_000))),
            (5, UInt32(number(16_384...70_000))), (6, 9), (8, 1), (9, 1), (77, 5),
        ]
        return pick(settings)
    }

    // MARK: - What breaks

    private mutating func mutate() {
        let place = number(0...frames.count - 1)
        switch number(0...13) {
        case 0: frames[place][3] = UInt8(number(0...11))
        case 1: frames[place][4] ^= 1 << UInt8(number(0...7))
        case 2: frames[place][8] = UInt8(pick([0, 1, 2, 3, 5, 7, 9, 99]))
        case 3: frames[place][5] ^= 0x80
        case 4: frames[place][2] = UInt8(truncatingIfNeeded: Int(frames[place][2]) + pick([-1, 1, 5, 100]))
        case 5: frames[place][1] ^= 0x40
        case 6: frames.swapAt(place, number(0...frames.count - 1))
        case 7: frames.insert(frames[place], at: number(place...frames.count))
        case 8: frames.remove(at: place)
        case 9: resize(place)
        case 10, 11: bend(place)
        case 12: insert(odd())
        default: addBlock(pick(SentRequests.streams), status(200) + oddField(), ends: chance(2))
        }
        if frames.isEmpty { frames = [Server.settings()] }
    }

    /// Cuts the payload or makes it longer, and says so.
    private mutating func resize(_ place: Int) {
        var payload = Array(frames[place].dropFirst(9))
        if chance(2) { payload.removeLast(min(payload.count, number(1...9))) } else { payload += [0, 1, 2] }
        let header = frames[place]
        let stream = Int32(header[7]) << 8 | Int32(header[8])
        frames[place] = Server.frame(type: header[3], flags: header[4], stream: stream, payload)
    }

    private mutating func bend(_ place: Int) {
        guard frames[place].count > 9 else { return }
        let byte = number(9...frames[place].count - 1)
        frames[place][byte] = pick([0, 1, 0x0D, 0x20, 0x41, 0x7F, 0x80, 0xBE, 0xFF, frames[place][byte] ^ 1])
    }

    private mutating func odd() -> [UInt8] {
        let stream = pick(SentRequests.streams)
        return pick([
            Server.windowUpdate(0), Server.windowUpdate(0, stream: stream), Server.windowUpdate(0x7FFF_FFFF),
            Server.windowUpdate(0x7FFF_FFFF, stream: stream), Server.windowUpdate(0x8000_0001, stream: stream),
            Server.settings([(4, 0x7FFF_FFFF)]), Server.settings([(4, 0x8000_0000)]), Server.settings([(5, 16_383)]),
            Server.settings([(5, 0xFF_FFFF)]), Server.settings([(5, 0x100_0000)]), Server.settings([(2, 1)]),
            Server.settings([(2, 2)]), Server.settings([(3, 0)]), Server.settings([(8, 2)]), Server.settings([(9, 2)]),
            Server.frame(type: 5, flags: 4, stream: stream, [0, 0, 0, 2, 0x88]),
            Server.frame(type: 9, flags: 4, stream: stream, [0x88]),
            Server.frame(type: 0, flags: 1, stream: stream, []),
            Server.frame(type: 0, stream: stream, [UInt8](repeating: 1, count: 16_384)),
            Server.frame(type: 4, flags: 1, []), Server.frame(type: 2, stream: stream, [0, 0, 0, UInt8(stream), 1]),
            Server.goAway(lastStream: 2), Server.goAway(lastStream: 3, code: 1),
        ])
    }

    private mutating func oddField() -> [UInt8] {
        let fields = [
            ("connection", "close"), ("te", "trailers"), ("te", "gzip"), ("transfer-encoding", "chunked"), ("A", "b"),
            ("a", "b\n"), ("a", " b"), ("a", "b\t"), (":path", "/"), (":status", "200"), ("content-length", "x"),
            ("content-length", "0"), ("content-length", "7"), ("", "a"), ("a b", "c"), ("host", "h"),
            ("upgrade", "h2c"),
        ]
        let (name, value) = pick(fields)
        return field(name, value)
    }
}
