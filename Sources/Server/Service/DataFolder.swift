internal import Crypto
internal import Glibc
package import Store

/// The embedded service's folder: the lock of the process that uses it, the master key and the operator's key.
///
/// Its PostgreSQL keeps its files in `postgres` below it.
package final class DataFolder: Sendable {
    package let path: String
    private let lock: Int32

    package var masterKeyFile: String { "\(path)/master.key" }
    package var operatorKeyFile: String { "\(path)/operator.key" }

    /// Makes the folder if it is not there, and holds it until ``release()``: two services on one folder would fight.
    ///
    /// - Throws: ``ServiceFault`` when another process holds it, or it cannot be written.
    package init(_ path: String) throws(ServiceFault) {
        try Self.makeFolders(path)
        guard let resolved = realpath(path, nil) else { throw .system("cannot open", path) }
        defer { free(resolved) }
        self.path = String(cString: resolved)
        let file = "\(self.path)/touchline.lock"
        // Not inherited: PostgreSQL may outlive this process, the lock may not.
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system("cannot write", file) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = readText(file)?.filter(\.isNumber) ?? ""
            close(descriptor)
            throw ServiceFault(
                "\(self.path) is in use by another touchline\(holder.isEmpty ? "" : " (process \(holder))")",
                hint: "Stop that one, or name another folder: --data DIR"
            )
        }
        ftruncate(descriptor, 0)
        let text = Array("\(getpid())\n".utf8)
        _ = write(descriptor, text, text.count)
        lock = descriptor
    }

    package func release() {
        // Closing is not enough while a program that is being started still has its copy of the descriptor.
        flock(lock, LOCK_UN)
        close(lock)
    }

    /// Reads the master key; makes one when there is none and nothing was encrypted before.
    ///
    /// - Parameter mayMake: False when rows are encrypted with a key that should be here.
    /// - Returns: The key in ``masterKeyFile``.
    /// - Throws: ``ServiceFault`` when the file cannot be used, or is gone and must not be.
    package func masterKey(mayMake: Bool) throws(ServiceFault) -> MasterKey {
        if let bytes = readBytes(masterKeyFile) { return try Self.masterKey(bytes, from: masterKeyFile) }
        guard errno == ENOENT else { throw .system("cannot read", masterKeyFile) }
        guard mayMake else {
            throw ServiceFault(
                "\(masterKeyFile) is gone, and apps in the database are encrypted with it",
                hint:
                    "Put it back from a backup. Without it the apps' keys must be uploaded again, with a new database."
            )
        }
        let key = MasterKey.random()
        try writeSecret(key.base64, to: masterKeyFile)
        return key
    }

    /// Reads a master key from a file of the operator's: base64 of 32 bytes, or the bytes themselves.
    package static func masterKey(file: String) throws(ServiceFault) -> MasterKey {
        guard let bytes = readBytes(file) else { throw .system("cannot read the master key from", file) }
        return try masterKey(bytes, from: file)
    }

    private static func masterKey(_ bytes: [UInt8], from file: String) throws(ServiceFault) -> MasterKey {
        do {
            // No base64 of 32 bytes is as short as that.
            if bytes.count == MasterKey.byteCount { return try MasterKey(bytes: bytes) }
            return try MasterKey(base64: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw ServiceFault("\(file): \(error.description)")
        }
    }

    private static func makeFolders(_ path: String) throws(ServiceFault) {
        var made = path.hasPrefix("/") ? "" : "."
        let parts = path.split(separator: "/")
        for (index, part) in parts.enumerated() {
            made += "/\(part)"
            if mkdir(made, index == parts.count - 1 ? 0o700 : 0o755) != 0, errno != EEXIST, errno != EROFS {
                throw .system("cannot make the folder", made)
            }
        }
    }
}

/// A small file's text; nil with `errno` when it cannot be read.
func readText(_ path: String) -> String? {
    readBytes(path).map { String(decoding: $0, as: UTF8.self) }
}

private func readBytes(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(descriptor, &bytes, bytes.count)
    return count >= 0 ? Array(bytes[0..<count]) : nil
}

/// Writes a file of mode 0600 as a whole or not at all.
func writeSecret(_ text: String, to path: String) throws(ServiceFault) {
    try writeWhole(text + "\n", to: path, mode: 0o600)
}

/// Writes beside the file and renames: a reader sees the old text or the new one.
func writeWhole(_ text: String, to path: String, mode: mode_t) throws(ServiceFault) {
    let fresh = "\(path).new"
    unlink(fresh)
    let descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw .system("cannot write", fresh) }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0, rename(fresh, path) == 0 else {
        throw .system("cannot write", path)
    }
}
