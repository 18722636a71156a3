internal import Glibc

/// The few calls on files that a cluster needs; each error names the path.
enum Files {
    static func failure(_ what: String, _ path: String) -> PGError {
        PGError(.configuration, "\(what) \(path): \(String(cString: strerror(errno)))")
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The owner of what stands at `path`; nil where nothing does.
    static func owner(_ path: String) -> uid_t? {
        var info = stat()
        return lstat(path, &info) == 0 ? info.st_uid : nil
    }

    static func mode(_ path: String) -> mode_t? {
        var info = stat()
        return stat(path, &info) == 0 ? info.st_mode & 0o7777 : nil
    }

    /// Makes a folder and those above it; one that is there already is left as it is.
    static func makeDirectories(_ path: String, mode: mode_t) throws(PGError) {
        var made = path.hasPrefix("/") ? "" : "."
        let parts = path.split(separator: "/")
        for (index, part) in parts.enumerated() {
            made += "/\(part)"
            if mkdir(made, index == parts.count - 1 ? mode : 0o755) != 0, errno != EEXIST {
                throw failure("cannot make the folder", made)
            }
        }
    }

    static func makeDirectory(_ path: String, mode: mode_t, owner: ClusterOwner) throws(PGError) {
        guard mkdir(path, mode) == 0 else { throw failure("cannot make the folder", path) }
        try give(path, to: owner)
    }

    static func give(_ path: String, to owner: ClusterOwner) throws(PGError) {
        guard geteuid() == 0 else { return }
        guard chown(path, owner.userID, owner.groupID) == 0 else { throw failure("cannot change the owner of", path) }
    }

    /// Without symbolic links; nil where nothing stands at `path`.
    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    static func link(_ path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = readlink(path, &buffer, buffer.count)
        return count >= 0 ? String(decoding: buffer[0..<count], as: UTF8.self) : nil
    }

    /// A file's text, at most 64 KiB from its end.
    static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let limit = 64 * 1_024
        let size = lseek(descriptor, 0, SEEK_END)
        lseek(descriptor, max(0, size - limit), SEEK_SET)
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let read = Glibc.read(descriptor, &bytes[count], limit - count)
            guard read > 0 else { break }
            count += read
        }
        return String(decoding: bytes[0..<count], as: UTF8.self)
    }

    static func write(_ text: String, to path: String, mode: mode_t) throws(PGError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("cannot write", path) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw failure("cannot write", path)
        }
    }

    /// The names in a folder, without `.` and `..`; empty where there is none.
    static func entries(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Removes a folder with everything in it; links are removed, not followed.
    static func removeTree(_ path: String) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return }
        guard info.st_mode & S_IFMT == S_IFDIR else {
            unlink(path)
            return
        }
        for name in entries(of: path) { removeTree("\(path)/\(name)") }
        rmdir(path)
    }
}
