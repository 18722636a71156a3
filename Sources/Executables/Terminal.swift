import Glibc

/// Standard output and standard error, unbuffered by us: a line is out when the call returns.
package enum Terminal {
    /// Whether standard error is a terminal: progress that overwrites itself goes only there.
    package static var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Columns and rows of the terminal that standard output is; nil when it is none.
    package static var size: (columns: Int, rows: Int)? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        // One that does not say is as terminals were.
        let isKnown = size.ws_col > 0 && size.ws_row > 0
        return isKnown ? (max(40, Int(size.ws_col)), max(5, Int(size.ws_row))) : (80, 24)
    }

    /// How wide a line may be: as the terminal is; for a program that reads it, no cell is cut.
    package static var width: Int { size?.columns ?? .max }

    /// Fills the screen that ``openScreen()`` gave with lines that fit it.
    package static func draw(_ lines: [String]) {
        write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J", to: STDOUT_FILENO)
    }

    /// Goes to a screen of its own, without a cursor; what stood on the terminal comes back with ``closeScreen()``.
    package static func openScreen() { write("\u{1B}[?1049h\u{1B}[?25l", to: STDOUT_FILENO) }

    package static func closeScreen() { write("\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO) }

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
