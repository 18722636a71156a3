internal import Glibc

package enum TemporaryFolder {
    /// Makes a new folder of mode 0700.
    ///
    /// - Parameter prefix: Its path without the six random characters at the end.
    /// - Returns: Its path; `nil` where it cannot be made, and `errno` says why.
    package static func make(prefix: String) -> String? {
        var template = Array("\(prefix)XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
            return String(cString: base)
        }
    }
}
