import Glibc

/// Every answered request, a line of JSON each, for whoever has to find out what became of one push of many.
///
/// Used on the service's loop alone. A line is written whole, so that what a killed simulator leaves can be read.
final class RequestFile {
    private let descriptor: Int32

    /// - Parameter path: Appended to; made if it is missing.
    /// - Throws: When it cannot be opened.
    init(_ path: String) throws(SimulatorError) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw SimulatorError("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    /// A full disk loses lines, and nothing else.
    func add(_ line: [UInt8]) {
        _ = (line + [UInt8(ascii: "\n")]).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
}
