internal import EventLoop
internal import Executables
import Glibc

/// A file system in memory that is filled and freed again. Root alone can mount one.
final class SmallDisk: Sendable {
    let folder: String
    private let keeper: ChildProcess

    /// Unmounts it when this process is gone, by `kill -9` too.
    private static let script = """
        while kill -0 "$1" 2>/dev/null; do sleep 1; done
        umount -l "$2"; rmdir "$2"
        """

    /// Nil where it cannot be mounted.
    init?(megabytes: Int) async {
        guard geteuid() == 0, let folder = TemporaryFolder.make(prefix: "/tmp/touchline-disk.") else { return nil }
        self.folder = folder
        guard await Self.run("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=0755", "tmpfs", folder]) else {
            rmdir(folder)
            return nil
        }
        var options = ChildProcess.Options("/bin/sh", ["-c", Self.script, "sh", "\(getpid())", folder])
        options.output = .discarded
        options.hasOwnSession = true
        guard let keeper = try? ChildProcess.start(options) else {
            _ = await Self.run("umount", ["-l", folder])
            rmdir(folder)
            return nil
        }
        self.keeper = keeper
    }

    /// Leaves no room for `length`, whatever is freed meanwhile.
    func fill(for length: Duration) async {
        let end = ContinuousClock.now + length
        let ballast = "\(folder)/ballast"
        let file = open(ballast, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        var size: off_t = 0
        repeat {
            for step: off_t in [1 << 24, 1 << 20, 1 << 12] {
                while posix_fallocate(file, size, step) == 0 { size += step }
            }
            try? await Task.sleep(for: .milliseconds(100))
        } while ContinuousClock.now < end && !Task.isCancelled
        close(file)
        unlink(ballast)
    }

    func unmount() async {
        keeper.signal(SIGKILL)
        _ = await Self.run("umount", ["-l", folder])
        rmdir(folder)
    }

    private static func run(_ program: String, _ arguments: [String]) async -> Bool {
        guard let path = ChildProcess.find(program, in: ["/bin", "/sbin"]) else { return false }
        let run = try? await ChildProcess.run(ChildProcess.Options(path, arguments), by: .now + .seconds(10))
        return run?.ending?.isSuccess ?? false
    }
}
