internal import APNs
internal import APNsProtocol
internal import Core
internal import Crypto
internal import EventLoop
internal import Glibc

/// Which starts of a pass have been handed to a connection, and what APNs answered, in a file that outlives the process.
///
/// PostgreSQL knows that a page is about to be sent before a byte goes out, and what became of it when all answers are in.
/// What lies between is here: one line a push right before the kernel gets its bytes, one with its answer. Writing goes to shared memory, which
/// the kernel keeps when the process is killed, and which is empty after a restart of the machine. So a successor on the same
/// machine can tell starts that were never handed out from those that may have arrived. Where there is no journal all of them
/// may have.
///
/// The file is locked while its process may still write: only what is not locked is read.
final class StartJournal: Sendable {
    /// What is known of one start.
    enum Mark: UInt8, Sendable {
        /// The kernel is about to get its bytes: it may arrive.
        case handedOut = 1
        case accepted = 2
        /// APNs has said that it did not take it, or it never left.
        case notTaken = 3
    }

    private static let prefix = "touchline-starts-"
    private static let lineBytes = 9
    /// Memory that lasts as long as the machine runs.
    static let sharedMemory = "/dev/shm"

    private let path: String
    /// -1: it could not be written, and is gone.
    private let descriptor: ThreadLock<Int32>
    private let headerBytes: Int

    /// Makes the journal of a claim of a pass; nil: there can be none here, and after a crash all that was under way is in doubt.
    ///
    /// - Parameters:
    ///   - lease: Names the claim, and the file: hexadecimal digits.
    ///   - folder: In memory; nothing there may be left from before a restart of the machine, or it is not believed.
    init?(lease: String, in folder: String) {
        guard let path = Self.path(lease, in: folder), let boot = Self.boot else { return nil }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.write(boot, to: descriptor) else {
            unlink(path)
            close(descriptor)
            return nil
        }
        self.path = path
        self.descriptor = ThreadLock(descriptor)
        headerBytes = boot.count
    }

    deinit { leave() }

    /// Puts a mark down for each. Where that fails there is no journal any more, rather than a wrong one.
    func mark(_ devices: [UInt64], _ mark: Mark) {
        var lines: [UInt8] = []
        lines.reserveCapacity(devices.count * Self.lineBytes)
        for device in devices {
            for byte in 0..<8 { lines.append(UInt8(truncatingIfNeeded: device >> UInt64(8 * byte))) }
            lines.append(mark.rawValue)
        }
        descriptor.withLock { descriptor in
            guard descriptor >= 0, !Self.write(lines, to: descriptor) else { return }
            unlink(path)
            close(descriptor)
            descriptor = -1
        }
    }

    /// All that was marked is in PostgreSQL: the next page begins.
    func clear() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0, ftruncate(descriptor, headerBytes) != 0 else { return }
            unlink(path)
            close(descriptor)
            descriptor = -1
        }
    }

    /// Ends it: nothing of it is needed any more.
    func remove() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            unlink(path)
            close(descriptor)
            descriptor = -1
        }
    }

    /// Ends it, and leaves what it says to a successor.
    func leave() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            close(descriptor)
            descriptor = -1
        }
    }

    // MARK: - Reading

    /// A journal of somebody who writes it no more.
    struct Findings: Sendable {
        fileprivate let path: String
        private let marks: [UInt64: Mark]

        /// - Returns: nil: it was never handed out.
        subscript(device: DeviceID) -> Mark? { marks[StartJournal.hash(device)] }

        fileprivate init(path: String, marks: [UInt64: Mark]) {
            self.path = path
            self.marks = marks
        }

        /// Its words are in PostgreSQL.
        func remove() { unlink(path) }
    }

    /// Reads what a claim has left.
    ///
    /// - Returns: nil: there is nothing that can be believed: another machine's claim, one from before a restart of this one,
    ///   or its process lives and may still write.
    static func findings(of lease: String, in folder: String) -> Findings? {
        guard let path = path(lease, in: folder), let boot else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG,
            flock(descriptor, LOCK_SH | LOCK_NB) == 0, let bytes = readAll(descriptor), bytes.starts(with: boot)
        else { return nil }
        var marks: [UInt64: Mark] = [:]
        var place = boot.count
        while place + lineBytes <= bytes.count {
            let device = (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
            guard let mark = Mark(rawValue: bytes[place + 8]) else { return nil }
            marks[device] = mark
            place += lineBytes
        }
        return Findings(path: path, marks: marks)
    }

    /// The claims whose journals nobody writes any more: their processes are dead, or have given up. Journals that nobody has
    /// asked for within a day are deleted.
    static func abandoned(in folder: String) -> [String] {
        names(in: folder).filter { name in
            let path = "\(folder)/\(name)"
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), flock(descriptor, LOCK_SH | LOCK_NB) == 0
            else { return false }
            guard time(nil) - status.st_mtim.tv_sec > 86_400 else { return true }
            unlink(path)
            return false
        }
        .map { String($0.dropFirst(prefix.count)) }
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(prefix) { names.append(name) }
        }
        return names
    }

    /// A device as its lines have it.
    static func hash(_ device: DeviceID) -> UInt64 {
        SHA256.hash(Array(device.text.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    // MARK: - Files

    private static func path(_ lease: String, in folder: String) -> String? {
        guard !lease.isEmpty, lease.utf8.count <= 64, lease.allSatisfy(\.isHexDigit) else { return nil }
        return "\(folder)/\(prefix)\(lease)"
    }

    /// Names the time since the machine's last start. Source: random(4).
    private static let boot: [UInt8]? = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return readAll(descriptor).flatMap { $0.isEmpty ? nil : $0 }
    }()

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        while true {
            let count = Glibc.write(descriptor, bytes, bytes.count)
            if count == bytes.count { return true }
            guard count < 0, errno == EINTR else { return false }
        }
    }

    private static func readAll(_ descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                return nil
            }
            bytes += buffer[..<count]
        }
    }
}

/// Puts down in a journal what becomes of one batch's starts.
final class StartWitness: PushWitness {
    private let journal: StartJournal
    private let devices: [UInt64]

    /// The devices are in the batch's order: ``StartJournal/hash(_:)`` of each device.
    init(journal: StartJournal, devices: [UInt64]) {
        self.journal = journal
        self.devices = devices
    }

    func handedOut(_ indices: [Int]) { journal.mark(indices.map { devices[$0] }, .handedOut) }

    func ended(_ index: Int, _ outcome: Outcome) {
        switch outcome {
        case .accepted: journal.mark([devices[index]], .accepted)
        case .unknown: break
        default: journal.mark([devices[index]], .notTaken)
        }
    }
}
