package import Glibc

/// An IPv4 or IPv6 address with its port.
package struct SocketAddress: Sendable, CustomStringConvertible {
    package private(set) var storage: sockaddr_storage
    package let length: socklen_t

    /// Copies an address as the system hands it out.
    package init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        storage = sockaddr_storage()
        self.length = min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))
        withUnsafeMutableBytes(of: &storage) { destination in
            destination.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(self.length)))
        }
    }

    /// Reads a literal address: `127.0.0.1`, `::1`, `[::1]`; `nil` for a name.
    package init?(literal text: String, port: Int) {
        guard let port = UInt16(exactly: port) else { return nil }
        var v4 = sockaddr_in()
        if inet_pton(AF_INET, text, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            self = withUnsafePointer(to: &v4) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    SocketAddress(copying: $0, length: socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return
        }
        var v6 = sockaddr_in6()
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        guard inet_pton(AF_INET6, bare, &v6.sin6_addr) == 1 else { return nil }
        v6.sin6_family = sa_family_t(AF_INET6)
        v6.sin6_port = port.bigEndian
        self = withUnsafePointer(to: &v6) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                SocketAddress(copying: $0, length: socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }

    /// 127.0.0.1.
    package static func loopback(port: Int) -> SocketAddress {
        guard let address = SocketAddress(literal: "127.0.0.1", port: port) else {
            preconditionFailure("not a port: \(port)")
        }
        return address
    }

    package var family: Int32 { Int32(storage.ss_family) }

    package var port: Int {
        withUnsafeBytes(of: storage) { bytes in
            // Both families keep the port in bytes 2 and 3.
            Int(bytes[2]) << 8 | Int(bytes[3])
        }
    }

    /// Whether only this machine can reach it: 127.0.0.0/8 or ::1.
    package var isLoopback: Bool {
        withUnsafeBytes(of: storage) { bytes in
            family == AF_INET
                ? bytes[4] == 127
                : family == AF_INET6 && bytes[8..<23].allSatisfy { $0 == 0 } && bytes[23] == 1
        }
    }

    /// `127.0.0.1:443`, `[::1]:443`.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isV4 = family == AF_INET
        _ = withUnsafeBytes(of: storage) { bytes in
            bytes.baseAddress.map { inet_ntop(family, $0 + (isV4 ? 4 : 8), &text, socklen_t(text.count)) }
        }
        let host = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "?" }
        return isV4 ? "\(host):\(port)" : "[\(host)]:\(port)"
    }

    /// Calls `body` with the pointer that `bind` and `connect` take.
    package func withSockAddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
