/// Checks the fields of one header block of a response while they are decoded. Source: RFC 9113, 8.1 to 8.3.
struct ResponseFields {
    let isTrailer: Bool
    /// 0 before `:status` has come.
    private(set) var status = 0
    private var hasOthers = false
    private var isMalformed = false
    /// The fields are longer than we hold; those beyond are checked, and belong to nothing.
    private(set) var isTooLong = false
    private var bytes = 0
    /// By `content-length`; -1 without.
    private(set) var promisedBytes = -1

    init(isTrailer: Bool) { self.isTrailer = isTrailer }

    /// Whether the block begins a response, and not an interim one (1xx).
    var isFinal: Bool { !isTrailer && status >= 200 }

    /// Which rule the block broke, if any; known once it is decoded whole.
    func brokenRule(endsStream: Bool) -> HTTP2Rule? {
        if isMalformed { return .wellFormedFields }
        if isTrailer { return endsStream ? nil : .trailersEnd }
        if status == 0 { return .wellFormedFields }
        // An interim response ends nothing, and does not switch protocols (RFC 9113, 8.6).
        return status >= 200 || (status != 101 && !endsStream) ? nil : .interimEnds
    }

    /// Looks at the next field.
    ///
    /// - Returns: Whether it belongs to the response; `false` for a pseudo-field, and for what is malformed.
    mutating func takes(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes += name.count + value.count + 32
        if isMalformed { return false }
        guard ResponseInflater.isValid(name: name, value: value) else {
            isMalformed = true
            return false
        }
        if bytes > HTTP2Session.mostFieldBytes { isTooLong = true }
        if name.first == UInt8(ascii: ":") {
            takePseudo(name, value)
            return false
        }
        guard isTrailer || status > 0 else {
            isMalformed = true
            return false
        }
        hasOthers = true
        switch name.count {
        case 14 where Self.equals(name, "content-length"): takeLength(value)
        case 7 where Self.equals(name, "upgrade"), 10 where Self.equals(name, "connection"),
            10 where Self.equals(name, "keep-alive"), 16 where Self.equals(name, "proxy-connection"),
            17 where Self.equals(name, "transfer-encoding"):
            isMalformed = true
        default: break
        }
        return !isMalformed && !isTooLong
    }

    private mutating func takePseudo(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        let isStatus = Self.equals(name, ":status") && value.count == 3 && value.allSatisfy { 0x30...0x39 ~= $0 }
        guard isStatus, !isTrailer, !hasOthers, status == 0, value[0] != UInt8(ascii: "0") else {
            isMalformed = true
            return
        }
        status = value.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private mutating func takeLength(_ value: UnsafeBufferPointer<UInt8>) {
        guard promisedBytes < 0, 1...18 ~= value.count, value.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            isMalformed = true
            return
        }
        promisedBytes = value.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func equals(_ name: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        name.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
