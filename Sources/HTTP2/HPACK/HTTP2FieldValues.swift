/// The values of a request's varying fields, one after the other in memory that is used again for the next request.
package struct HTTP2FieldValues: ~Copyable {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private var ends: (Int, Int, Int, Int) = (0, 0, 0, 0)
    /// In bytes, of all values together.
    private(set) var used = 0
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

    /// The bytes of one value, valid until the next is written.
    subscript(_ number: Int) -> UnsafeBufferPointer<UInt8> {
        let range =
            switch number {
            case 0: 0..<ends.0
            case 1: ends.0..<ends.1
            case 2: ends.1..<ends.2
            default: ends.2..<ends.3
            }
        return UnsafeBufferPointer(rebasing: memory[range])
    }
}
