import Glibc

/// Standard output and standard error, unbuffered by us: a line is out when the call returns.
package enum Terminal {
    /// Whether standard error is a terminal: progress that overwrites itself goes only there.
    package static var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// For people and programs: results.
    package static func print(_ text: String, terminator: String = "\n") { write(text + terminator, to: STDOUT_FILENO) }

    /// On standard error: errors, and what is going on.
    package static func complain(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

    /// Overwrites the current line of the terminal; nothing where there is none.
    package static func progress(_ text: String) {
        guard showsProgress else { return }
        write("\r\u{1B}[K" + text, to: STDERR_FILENO)
    }

    /// Takes the progress line away.
    package static func endProgress() {
        guard showsProgress else { return }
        write("\r\u{1B}[K", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR || errno == EAGAIN { continue }
            guard written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }
}
