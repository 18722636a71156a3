/// The streams of one connection that have begun and not ended.
///
/// A ring of bytes over the numbers from the lowest open stream to the highest: no hashing a push. It grows to the span
/// between them, which a stream that stays open while others come and go makes a byte larger a stream.
struct OpenStreams {
    enum State: UInt8 {
        case none
        /// Its request is not complete.
        case receiving
        /// Its request is complete, and waits for a rule's time.
        case waiting
        /// Its answer has begun.
        case answering
    }

    private static let mostSpan = 1 << 24

    private var ring: [UInt8] = Array(repeating: 0, count: 2048)
    private var first = 0  // the place of the lowest stream that may be open: half its number
    private var end = 0  // behind the highest
    private(set) var count = 0
    /// What was read of each, in the ring's places; empty where nothing is read.
    private var fields: [FieldSkimmer.Found]

    init(keepsFound: Bool = false) {
        fields = keepsFound ? Array(repeating: FieldSkimmer.Found(), count: ring.count) : []
    }

    /// Whether the span to a stream above all others is still one that is kept.
    func hasRoom(for stream: Int32) -> Bool { count == 0 || Int(stream >> 1) - first < Self.mostSpan }

    /// A stream above all others begins.
    mutating func open(_ stream: Int32, _ state: State, _ found: FieldSkimmer.Found? = nil) {
        let place = Int(stream >> 1)
        if count == 0 { first = place }
        if place - first >= ring.count { grow(to: place - first + 1) }
        end = place + 1
        ring[place & (ring.count - 1)] = state.rawValue
        if let found { fields[place & (ring.count - 1)] = found }
        count += 1
    }

    /// What was read of an open stream.
    func found(_ stream: Int32) -> FieldSkimmer.Found? {
        fields.isEmpty ? nil : fields[Int(stream >> 1) & (ring.count - 1)]
    }

    subscript(_ stream: Int32) -> State {
        let place = Int(stream >> 1)
        guard place >= first, place < end, stream & 1 == 1 else { return .none }
        return State(rawValue: ring[place & (ring.count - 1)]) ?? .none
    }

    /// Changes the state of an open stream.
    mutating func set(_ stream: Int32, _ state: State) {
        ring[Int(stream >> 1) & (ring.count - 1)] = state.rawValue
    }

    /// An open stream ends.
    mutating func close(_ stream: Int32) {
        let place = Int(stream >> 1)
        ring[place & (ring.count - 1)] = 0
        count -= 1
        if count == 0 {
            first = end
        } else if place == first {
            while ring[first & (ring.count - 1)] == 0 { first += 1 }
        }
    }

    /// Every open stream, the lowest first.
    var all: [Int32] {
        (first..<end).filter { ring[$0 & (ring.count - 1)] != 0 }.map { Int32($0 << 1 | 1) }
    }

    private mutating func grow(to span: Int) {
        var size = ring.count
        while size < span { size *= 2 }
        var larger = [UInt8](repeating: 0, count: size)
        for place in first..<end { larger[place & (size - 1)] = ring[place & (ring.count - 1)] }
        if !fields.isEmpty {
            var moved = [FieldSkimmer.Found](repeating: FieldSkimmer.Found(), count: size)
            for place in first..<end { moved[place & (size - 1)] = fields[place & (ring.count - 1)] }
            fields = moved
        }
        ring = larger
    }
}
