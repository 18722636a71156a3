import HTTP2
import HTTPServer

/// An event as text, so that two runs of a parser can be compared.
func describe(_ event: HTTP1RequestParser.Event) -> String {
    switch event {
    case .continueExpected: "continue"
    case .refused(let refusal): "refused \(refusal.status)"
    case .streamBegan(let head): "stream \(head.request.method) \(head.request.target)"
    case .bodyPart(let bytes): "part \(bytes.count)"
    case .bodyEnded: "end"
    case .request(let request, let keepsAlive):
        """
        \(request.method) \(request.authority) \(request.target) \(keepsAlive ? "keep" : "close") \
        \(request.fields.pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")) \
        \(String(decoding: request.body, as: UTF8.self))
        """
    }
}

extension HTTP1RequestParser {
    mutating func append(_ bytes: some Collection<UInt8>) {
        Array(bytes).withUnsafeBytes { append($0) }
    }

    mutating func drain() -> [String] {
        var events: [String] = []
        while let event = next() { events.append(describe(event)) }
        return events
    }
}

/// The events of `bytes`, given to a new parser in one piece.
func events(of bytes: some Collection<UInt8>, limits: HTTPLimits = HTTPLimits()) -> [String] {
    var parser = HTTP1RequestParser(limits: limits, scheme: "http")
    parser.append(bytes)
    return parser.drain()
}

func events(of text: String, limits: HTTPLimits = HTTPLimits()) -> [String] {
    events(of: text.utf8, limits: limits)
}

/// A small generator with a seed, so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Changes, drops, adds or doubles bytes at one place.
func bend(_ bytes: inout [UInt8], using generator: inout SeededGenerator) {
    guard !bytes.isEmpty else { return }
    let place = Int.random(in: 0..<bytes.count, using: &generator)
    let odd: [UInt8] = [0, 9, 10, 13, 32, 35, 44, 48, 58, 59, 127, 128, 255]
    switch Int.random(in: 0..<5, using: &generator) {
    case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
    case 1: bytes[place] = odd[Int.random(in: 0..<odd.count, using: &generator)]
    case 2: bytes.remove(at: place)
    case 3: bytes.insert(odd[Int.random(in: 0..<odd.count, using: &generator)], at: place)
    default:
        let end = min(bytes.count, place + Int.random(in: 1...40, using: &generator))
        bytes.insert(contentsOf: bytes[place..<end], at: place)
    }
}
