internal import CLinux
internal import EventLoop
internal import Glibc

/// A shell that ends a disposable cluster when this process is gone, however it went.
///
/// It reads from a pipe whose other end we hold: that end is closed when we end, by `kill -9` too.
final class ClusterGuardian: Sendable {
    private let shell: ChildProcess
    private let pipeEnd: Int32

    private static let script = """
        read -r _
        kill -QUIT "$1" 2>/dev/null
        tries=0
        while kill -0 "$1" 2>/dev/null && [ "$tries" -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
        shift
        rm -rf -- "$@"
        """

    /// Nil when no process can be started; the cluster then has to be stopped in order.
    init?(processID: pid_t, folders: [String]) {
        var ends: [Int32] = [0, 0]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { return nil }
        defer { close(ends[0]) }
        var options = ChildProcess.Options("/bin/sh", ["-c", Self.script, "sh", "\(processID)"] + folders)
        options.input = ends[0]
        options.output = .discarded
        options.hasOwnSession = true
        guard let shell = try? ChildProcess.start(options) else {
            close(ends[1])
            return nil
        }
        self.shell = shell
        pipeEnd = ends[1]
    }

    /// Ends the shell without its doing anything.
    func dismiss() async {
        shell.signal(SIGKILL)
        await shell.waitForEnd()
        close(pipeEnd)
    }
}
