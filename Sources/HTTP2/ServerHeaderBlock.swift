/// A header block as the wire has it, pseudo-fields included, in one piece of memory: no `String` a field.
///
/// Names are lower case; repeated names are kept, in order. ``removeAll()`` keeps the memory, so that a block that is
/// filled again and again allocates nothing.
package struct HTTP2HeaderBlock: Sendable, Equatable {
    /// Where a field ends: its value begins at the end of its name, its name at the end of the field before.
    struct Mark: Equatable, Sendable {
        var nameEnd: UInt32
        var valueEnd: UInt32
    }

    private(set) var bytes: [UInt8] = []
    private(set) var marks: [Mark] = []

    package init() {}

    package init(_ fields: KeyValuePairs<String, String>) {
        for (name, value) in fields { append(name.utf8, value.utf8) }
    }

    package var count: Int { marks.count }

    /// As HTTP/2 counts it for `SETTINGS_MAX_HEADER_LIST_SIZE`: 32 bytes a field on top (RFC 9113, 6.5.2).
    package var listBytes: Int { bytes.count + 32 * marks.count }

    /// What the request says of its body's length.
    var contentLength: Int? {
        let wanted = "content-length".utf8
        guard let index = marks.indices.first(where: { name(at: $0).elementsEqual(wanted) }) else { return nil }
        return Int(String(decoding: value(at: index), as: UTF8.self))
    }

    package func name(at index: Int) -> ArraySlice<UInt8> {
        bytes[start(of: index)..<Int(marks[index].nameEnd)]
    }

    package func value(at index: Int) -> ArraySlice<UInt8> {
        bytes[Int(marks[index].nameEnd)..<Int(marks[index].valueEnd)]
    }

    /// The value of the first field of this name.
    package func value(of name: StaticString) -> ArraySlice<UInt8>? {
        firstIndex(of: name).map { value(at: $0) }
    }

    /// How many fields have this name.
    package func occurrences(of name: StaticString) -> Int {
        marks.indices.count { isName(name, at: $0) }
    }

    package mutating func append(_ name: some Sequence<UInt8>, _ value: some Sequence<UInt8>) {
        bytes.append(contentsOf: name)
        let nameEnd = UInt32(bytes.count)
        bytes.append(contentsOf: value)
        marks.append(Mark(nameEnd: nameEnd, valueEnd: UInt32(bytes.count)))
    }

    package mutating func append(_ name: StaticString, _ value: some Sequence<UInt8>) {
        append(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        marks.removeAll(keepingCapacity: true)
    }

    private func start(of index: Int) -> Int { index == 0 ? 0 : Int(marks[index - 1].valueEnd) }

    private func firstIndex(of name: StaticString) -> Int? {
        marks.indices.first { isName(name, at: $0) }
    }

    private func isName(_ name: StaticString, at index: Int) -> Bool {
        let start = start(of: index)
        guard Int(marks[index].nameEnd) - start == name.utf8CodeUnitCount else { return false }
        for offset in 0..<name.utf8CodeUnitCount where bytes[start + offset] != name.utf8Start[offset] { return false }
        return true
    }
}

/// A request with its whole body, as it came on a stream.
package struct HTTP2ServerRequest: Sendable {
    package var head: HTTP2HeaderBlock
    package var body: [UInt8]

    package init(head: HTTP2HeaderBlock = HTTP2HeaderBlock(), body: [UInt8] = []) {
        self.head = head
        self.body = body
    }
}

extension HTTPRequest {
    /// Reads a header block that nghttp2 has checked: the pseudo-fields are there, once each, before the others.
    ///
    /// `nil` when a value is not UTF-8, or the request is a `CONNECT`, which has no path.
    package init?(_ request: HTTP2ServerRequest) {
        self.init(method: "", authority: "", target: "")
        for index in 0..<request.head.count {
            let name = request.head.name(at: index)
            guard let value = String(validating: request.head.value(at: index), as: UTF8.self) else { return nil }
            if name.first == 0x3A {
                switch String(decoding: name, as: UTF8.self) {
                case ":method": method = value
                case ":scheme": scheme = value
                case ":authority": authority = value
                case ":path": target = value
                default: return nil
                }
            } else {
                fields.append(String(decoding: name, as: UTF8.self), value)
            }
        }
        // HTTP/2 made from HTTP/1.1 may carry `Host` in the place of `:authority` (RFC 9113, 8.3.1).
        if authority.isEmpty, let host = fields["host"] { authority = host }
        body = request.body
        guard !target.isEmpty else { return nil }
    }
}
