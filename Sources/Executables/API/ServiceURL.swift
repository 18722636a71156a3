/// Where an HTTP service is: `http://127.0.0.1:8080`, `https://scores.example`.
package struct ServiceURL: Equatable, Sendable {
    package let isSecure: Bool
    package let host: String
    package let port: Int

    /// - Throws: ``Failure`` of the kind `wrongUse` for what is no such URL, a path behind it included.
    package init(_ text: String) throws(Failure) {
        let wrong = Failure(.wrongUse, "“\(text)” is no URL of a service", hint: "Write it as http://127.0.0.1:8080")
        let secure = text.hasPrefix("https://")
        guard secure || text.hasPrefix("http://") else { throw wrong }
        var rest = text.dropFirst(secure ? 8 : 7)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, !rest.contains(where: { "/?#@ ".contains($0) }) else { throw wrong }

        var portText: Substring?
        var hostText = rest
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            hostText = rest[rest.index(after: rest.startIndex)..<end]
            let behind = rest[rest.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":") else { throw wrong }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else if let colon = rest.lastIndex(of: ":") {
            hostText = rest[..<colon]
            portText = rest[rest.index(after: colon)...]
        }
        isSecure = secure
        host = String(hostText)
        if let portText {
            guard let number = Int(portText), (1...65_535).contains(number) else { throw wrong }
            port = number
        } else {
            port = secure ? 443 : 80
        }
        guard !host.isEmpty else { throw wrong }
    }

    package var scheme: String { isSecure ? "https" : "http" }

    /// Host and port, as `:authority` has them.
    package var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    package var text: String { "\(scheme)://\(authority)" }

    /// `text` as one segment of a path: everything but unreserved characters is percent-encoded (RFC 3986, 2.3).
    package static func segment(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return result
    }
}
