import Testing

@testable import HTTP2

/// An encoder and the decoder of somebody else behind it.
private final class Pair {
    var encoder = RequestEncoder()
    let decoder = HeaderDecoder()
    private var values = HTTP2FieldValues(capacity: 1 << 16)

    func encode(_ template: HTTP2RequestTemplate, _ varying: [String] = []) -> [UInt8] {
        values.removeAll()
        for value in varying {
            values.write(value)
            values.finishValue()
        }
        let most = RequestEncoder.mostBytes(template, values)
        return [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            count = encoder.encode(template, values, to: base)
        }
    }

    /// Whether a block decodes to the template's fields: the varying pseudo-fields, the constants, the other varying ones.
    func agrees(_ request: Request) -> Bool {
        guard let decoded = decoder.decode(encode(request.template, request.values)) else { return false }
        return decoded.map { [$0.name, $0.value] } == request.fields
    }
}

private struct Request {
    let template: HTTP2RequestTemplate
    let constants: [(String, String)]
    var values: [String]

    /// One of Touchline's pushes.
    static func push(topic: String, token: String, expiration: String = "1700000000", path: String, id: String)
        -> Request
    {
        let constants = [
            (":method", "POST"), (":scheme", "https"), (":authority", "api.push.apple.com"),
            ("authorization", token), ("content-type", "application/json"), ("apns-topic", topic),
            ("apns-push-type", "liveactivity"), ("apns-priority", "5"), ("apns-expiration", expiration),
        ]
        return Request(
            template: HTTP2RequestTemplate(constant: constants, varying: [":path", "apns-id"]),
            constants: constants,
            values: [path, id]
        )
    }

    func with(_ values: [String]) -> Request {
        Request(template: template, constants: constants, values: values)
    }

    var fields: [[String]] {
        [[":path", values[0]]] + constants.map { [$0.0, $0.1] } + zip(["apns-id"], values.dropFirst()).map { [$0, $1] }
    }
}

private let token = "bearer " + String(repeating: "eyJhbGciOiJFUzI1NiIs", count: 11)
private let id = "0f8fad5b-d9cb-469f-a165-70867728950e"
private let path = "/3/device/" + String(repeating: "5a", count: 32)

@Suite("The encoder of requests")
struct RequestEncoderTests {
    @Test("sends what is constant as a byte each, from the third request on")
    func constantsAreBytes() {
        let pair = Pair()
        let request = Request.push(topic: "com.acme", token: token, path: path, id: id)
        #expect(pair.encode(request.template, [path, id]).count > 300)
        let steady = [2, 3, 4].map { _ in pair.encode(request.template, [path, id]).count }
        // A byte for each constant; name, length and value of the path and of the id, whose name takes two bytes at most.
        #expect(steady.allSatisfy { $0 <= 9 + 2 + path.utf8.count + 3 + id.utf8.count }, "\(steady)")
    }

    @Test("says the same as nghttp2 reads, for every byte that a value may have")
    func everyByte() throws {
        let pair = Pair()
        for byte in UInt8.min...UInt8.max {
            // Beside what Huffman makes short, so that this form is taken.
            let value = String(repeating: "0", count: 100) + String(UnicodeScalar(byte))
            let template = HTTP2RequestTemplate(constant: [(":method", "POST"), ("x-text", value)])
            #expect(
                pair.decoder.decode(pair.encode(template)) == [
                    .init(name: ":method", value: "POST"), .init(name: "x-text", value: value),
                ]
            )
        }
    }

    @Test("knows the static table as nghttp2 does")
    func staticTable() {
        for (name, value) in HPACKStaticTable.fields {
            let pair = Pair()
            let block = pair.encode(HTTP2RequestTemplate(constant: [(name, value)]))
            #expect(pair.decoder.decode(block)?.map { [$0.name, $0.value] } == [[name, value]])
            if !value.isEmpty { #expect(block.count == 1, "\(name): \(value)") }
        }
        #expect(HPACKStaticTable.fields.count == HPACKStaticTable.count)
    }

    @Test("never lets anybody index a provider token that is not in the table")
    func secretsAreNeverIndexed() throws {
        let pair = Pair()
        pair.encoder.setPeerTableBytes(0)
        pair.decoder.changeTable(bytes: 0)
        let request = Request.push(topic: "com.acme", token: token, path: path, id: id)
        for _ in 0..<3 {
            let fields = try #require(pair.decoder.decode(pair.encode(request.template, request.values)))
            #expect(fields.filter(\.isNeverIndexed).map(\.name) == ["authorization"])
        }
        #expect(pair.decoder.tableBytes == 0)
    }

    @Test("tells of a table that was lowered and raised again between two requests")
    func tableLoweredAndRaised() {
        let pair = Pair()
        let request = Request.push(topic: "com.acme", token: token, path: path, id: id)
        for _ in 0..<3 { #expect(pair.agrees(request)) }
        for (low, high) in [(0, 4096), (100, 300), (0, 65_536), (4096, 4096)] {
            for bytes in [low, high] {
                pair.encoder.setPeerTableBytes(bytes)
                pair.decoder.changeTable(bytes: bytes)
            }
            for _ in 0..<3 { #expect(pair.agrees(request)) }
            #expect(pair.decoder.tableBytes <= min(high, 4096))
        }
    }

    @Test("pays at most one table of insertions in 256 requests, however many templates alternate")
    func doesNotThrash() {
        let pair = Pair()
        // Three tables' worth of topics and tokens.
        let requests = (0..<60).map {
            Request.push(topic: "com.acme.app\($0)", token: token + "\($0)", path: path, id: id)
        }
        let rounds = 256
        var bytes = 0
        for round in 0..<rounds {
            for request in requests {
                let block = pair.encode(request.template, request.values)
                if round > 0 { bytes += block.count }
                #expect(pair.decoder.decode(block)?.map { [$0.name, $0.value] } == request.fields)
            }
        }
        // What a token costs as a literal, with all the rest; and the sixteen bytes a request that rounds may cost.
        let average = bytes / ((rounds - 1) * requests.count)
        #expect(average < 9 * 12 + path.utf8.count + id.utf8.count + 180 + 16, "\(average)")
    }

    @Test("takes up a new template's fields after a full table, and drops the old ones")
    func turnsTheTableOver() {
        let pair = Pair()
        for batch in 0..<300 {
            let request = Request.push(
                topic: "com.acme",
                token: token + "\(batch / 50)",
                expiration: "17000\(batch)",
                path: path,
                id: id
            )
            var last = 0
            for _ in 0..<40 {
                let block = pair.encode(request.template, request.values)
                #expect(pair.decoder.decode(block)?.map { [$0.name, $0.value] } == request.fields)
                last = block.count
            }
            #expect(last < 200, "batch \(batch): \(last)")
        }
    }

    @Test("keeps values that vary out of the peer's table: their names are there once, and what is steady stays")
    func namesOnly() {
        let pair = Pair()
        let names: Set<String> = ["apns-expiration", "apns-collapse-id"]
        var bytes = 0
        var most = 0
        for number in 0..<3000 {
            let constants = [
                (":method", "POST"), (":scheme", "https"), ("authorization", token), ("apns-topic", "com.acme"),
                ("apns-expiration", "17000\(number)"), ("apns-collapse-id", "match-\(number)"),
            ]
            let template = HTTP2RequestTemplate(constant: constants, varying: [":path", "apns-id"], nameOnly: names)
            let block = pair.encode(template, [path, id])
            let expected = [[":path", path]] + constants.map { [$0.0, $0.1] } + [["apns-id", id]]
            #expect(pair.decoder.decode(block)?.map { [$0.name, $0.value] } == expected)
            if number == 0 { bytes = pair.decoder.tableBytes }
            if number > 0 { most = max(most, block.count) }
        }
        // Nothing has entered it since the first request.
        #expect(pair.decoder.tableBytes == bytes)
        #expect(most < path.utf8.count + id.utf8.count + 40, "\(most)")
    }

    @Test("decodes to the same fields, whatever requests and tables come", arguments: 0..<40)
    func anySequence(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pair = Pair()
        let topics = (0..<12).map { "com.acme.\($0)" }
        var requests = (0..<8).map { _ in
            Request.push(topic: topics.randomElement(using: &random)!, token: token, path: path, id: id)
        }
        for step in 0..<2000 {
            switch random.next() % 50 {
            case 0:
                // Between two requests a peer may change its mind more than once.
                for _ in 0...random.next() % 3 {
                    let bytes = [0, 1, 50, 100, 300, 1000, 4096, 10_000].randomElement(using: &random)!
                    pair.encoder.setPeerTableBytes(bytes)
                    pair.decoder.changeTable(bytes: bytes)
                }
            case 1...2:
                requests[Int(random.next() % 8)] = .push(
                    topic: topics.randomElement(using: &random)!,
                    token: token + "\(random.next() % 20)",
                    expiration: "\(random.next() % 1000)",
                    path: path,
                    id: id
                )
            default: break
            }
            let values = ["/3/device/\(random.next())", String(repeating: "f", count: Int(random.next() % 300))]
            let request = requests[Int(random.next() % 8)].with(values)
            guard pair.agrees(request) else {
                Issue.record("seed \(seed), step \(step)")
                return
            }
        }
    }
}
