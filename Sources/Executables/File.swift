internal import Glibc

/// Files that a command line names.
package enum File {
    /// All of the file; `-` is standard input, and pipes are as good as files.
    package static func read(_ path: String) throws(Failure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += piece[..<count]
            } else if errno != EINTR {
                throw unreadable(path)
            }
        }
    }

    private static func unreadable(_ path: String) -> Failure {
        let reason =
            switch errno {
            case ENOENT: "there is no such file"
            case EACCES: "not allowed"
            case EISDIR: "it is a folder"
            case let code: String(cString: strerror(code))
            }
        return Failure(.failed, "cannot read \(path): \(reason)")
    }
}

extension String {
    /// Without the blanks and line ends around it.
    package var trimmed: String {
        var rest = self[...]
        while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
        return String(rest.drop(while: \.isWhitespace))
    }
}
