import Crypto
import EventLoop
import Glibc

/// The files that a simulator makes: the certificates of its listeners, and the key of its credential.
struct SimulatorFiles {
    let directory: String
    let certificate: TestCertificate
    let p8File: String
    let key: P256PrivateKey
    /// The folder is ours, to be removed at the end.
    private let isTemporary: Bool

    /// - Parameter directory: Made if it is missing; nil: a new temporary one.
    /// - Throws: When the folder or a file cannot be made.
    init(directory: String?) throws(SimulatorError) {
        isTemporary = directory == nil
        if let directory {
            try Self.make(directory)
            self.directory = directory
        } else {
            self.directory = try Self.makeTemporary()
        }
        do throws(CryptoError) {
            certificate = try TestCertificate.make(directory: self.directory)
            key = try P256PrivateKey.generate()
            p8File = "\(self.directory)/AuthKey.p8"
            try Self.write(Array(try key.pem.utf8), to: p8File, mode: 0o600)
        } catch {
            throw SimulatorError("cannot make certificates in \(self.directory): \(error)")
        }
    }

    func remove() {
        guard isTemporary else { return }
        for file in [certificate.caFile, certificate.certificateFile, certificate.keyFile, p8File] { unlink(file) }
        rmdir(directory)
    }

    /// Writes a file whole, or not at all: under another name first.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o644) throws(CryptoError) {
        let draft = "\(path).\(getpid()).new"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .file(path: draft, code: errno) }
        let written = Glibc.write(descriptor, bytes, bytes.count)
        let code = errno
        close(descriptor)
        guard written == bytes.count, rename(draft, path) == 0 else {
            unlink(draft)
            throw .file(path: path, code: code)
        }
    }

    private static func make(_ path: String) throws(SimulatorError) {
        var position = path.startIndex
        repeat {
            position = path[position...].dropFirst().firstIndex(of: "/") ?? path.endIndex
            let parent = String(path[..<position])
            if mkdir(parent, 0o700) != 0, errno != EEXIST { throw SimulatorError("cannot make the folder \(parent)") }
        } while position != path.endIndex
    }

    private static func makeTemporary() throws(SimulatorError) -> String {
        let wanted = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let parent = wanted.isEmpty ? "/tmp" : wanted
        guard let folder = TemporaryFolder.make(prefix: "\(parent)/apns-simulator.") else {
            throw SimulatorError("cannot make a folder in \(parent)")
        }
        return folder
    }
}
