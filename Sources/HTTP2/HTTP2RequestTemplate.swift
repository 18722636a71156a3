internal import CNghttp2
internal import Glibc

/// The header block that many requests share: constant fields, and the names of those that each request fills in.
///
/// The constant names and values lie in memory that does not move, so nghttp2 takes them without copying; a request that
/// is under way holds its template. Belongs to one loop at a time.
package final class HTTP2RequestTemplate {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private let fields: UnsafeMutableBufferPointer<nghttp2_nv>
    /// Where in `fields` each varying field stands.
    private var varyingPlaces: [Int]

    /// - Parameters:
    ///   - constant: Name and value, pseudo-fields (`:method`, `:scheme`, `:authority`) first, names in lower case.
    ///   - varying: Names that each request gives a value for; pseudo-fields (`:path`) first. They go out before the
    ///     constant ones when they are pseudo-fields.
    package init(constant: [(name: String, value: String)], varying: [String] = []) {
        let size = constant.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        let varyingSize = varying.reduce(0) { $0 + $1.utf8.count }
        memory = .allocate(capacity: max(1, size + varyingSize))
        fields = .allocate(capacity: constant.count + varying.count)
        var end = 0
        func place(_ text: String) -> (UnsafeMutablePointer<UInt8>?, Int) {
            let start = end
            for byte in text.utf8 {
                memory.initializeElement(at: end, to: byte)
                end += 1
            }
            return (memory.baseAddress.map { $0 + start }, end - start)
        }
        // Pseudo-fields come first (RFC 9113, 8.3): varying ones, constant ones, then the others in the same order.
        let isPseudo = { (name: String) in name.hasPrefix(":") }
        let ordered: [(name: String, value: String?, varying: Int?)] =
            varying.enumerated().map { ($0.element, nil, $0.offset) } + constant.map { ($0.name, $0.value, nil) }
        let sorted = ordered.filter { isPseudo($0.name) } + ordered.filter { !isPseudo($0.name) }
        varyingPlaces = .init(repeating: 0, count: varying.count)
        for (index, field) in sorted.enumerated() {
            let (name, nameCount) = place(field.name)
            let (value, valueCount) = place(field.value ?? "")
            let flags =
                field.varying == nil
                ? UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
                : UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
            fields.initializeElement(
                at: index,
                to: nghttp2_nv(name: name, value: value, namelen: nameCount, valuelen: valueCount, flags: flags)
            )
            if let number = field.varying { varyingPlaces[number] = index }
        }
    }

    deinit {
        memory.deallocate()
        fields.deallocate()
    }

    /// Calls `body` with the fields, the varying ones set to `values`, which nghttp2 copies.
    ///
    /// - Parameters:
    ///   - values: One for each varying name, in their order.
    ///   - indexesValues: Whether they may enter the peer's dynamic table. They should once a connection, for their names'
    ///     sake; from then on they would only push out what is used again.
    ///   - body: Must not keep the fields.
    /// - Returns: What `body` returns.
    func withFields<Result>(
        _ values: borrowing HTTP2FieldValues,
        indexesValues: Bool,
        _ body: (UnsafeMutableBufferPointer<nghttp2_nv>) -> Result
    ) -> Result {
        precondition(values.count == varyingPlaces.count, "\(values.count) values for \(varyingPlaces.count) fields")
        let indexing = indexesValues ? 0 : NGHTTP2_NV_FLAG_NO_INDEX.rawValue
        for number in 0..<values.count {
            let value = values.pointer(number)
            fields[varyingPlaces[number]].value = value.baseAddress
            fields[varyingPlaces[number]].valuelen = value.count
            fields[varyingPlaces[number]].flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | indexing)
        }
        return body(fields)
    }
}

/// The values of a request's varying fields, one after the other in memory that is used again for the next request.
package struct HTTP2FieldValues: ~Copyable {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private var ends: (Int, Int, Int, Int) = (0, 0, 0, 0)
    private var used = 0
    package private(set) var count = 0

    /// - Parameter capacity: In bytes, of all values together; more than that traps.
    package init(capacity: Int) {
        memory = .allocate(capacity: capacity)
    }

    deinit { memory.deallocate() }

    package mutating func removeAll() {
        used = 0
        count = 0
    }

    /// Adds bytes to the value that is being written.
    package mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
        precondition(used + bytes.count <= memory.count, "field values of more than \(memory.count) bytes")
        guard let source = bytes.baseAddress, let base = memory.baseAddress else { return }
        (base + used).update(from: source, count: bytes.count)
        used += bytes.count
    }

    /// Adds text to the value that is being written.
    package mutating func write(_ text: borrowing String) {
        var copy = copy text
        copy.withUTF8 { write($0) }
    }

    /// Ends the value that is being written; at most four values fit.
    package mutating func finishValue() {
        switch count {
        case 0: ends.0 = used
        case 1: ends.1 = used
        case 2: ends.2 = used
        case 3: ends.3 = used
        default: preconditionFailure("more than four varying fields")
        }
        count += 1
    }

    func pointer(_ number: Int) -> UnsafeMutableBufferPointer<UInt8> {
        let range =
            switch number {
            case 0: 0..<ends.0
            case 1: ends.0..<ends.1
            case 2: ends.1..<ends.2
            default: ends.2..<ends.3
            }
        return UnsafeMutableBufferPointer(rebasing: memory[range])
    }
}
