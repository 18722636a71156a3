internal import CLinux
internal import EventLoop
internal import Glibc

/// A shell that ends a workplace's processes and deletes its folder when this process is gone, by `kill -9` too.
///
/// It reads from a pipe whose other end only we hold.
final class Guardian: Sendable {
    private let shell: ChildProcess
    private let pipeEnd: Int32

    private static let script = """
        folder=$1; pids=
        while read -r pid; do pids="$pids $pid"; done
        for pid in $pids; do kill -CONT "$pid" 2>/dev/null; kill -TERM "$pid" 2>/dev/null; done
        tries=0
        for pid in $pids; do
            while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
            kill -KILL "$pid" 2>/dev/null
        done
        rm -rf -- "$folder"
        """

    init(folder: String) throws(Failure) {
        var ends: [Int32] = [0, 0]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Failure(.failed, "no descriptor left") }
        defer { close(ends[0]) }
        var options = ChildProcess.Options("/bin/sh", ["-c", Self.script, "sh", folder])
        options.input = ends[0]
        options.output = .discarded
        options.hasOwnSession = true
        do throws(ChildProcessError) {
            shell = try ChildProcess.start(options)
        } catch {
            close(ends[1])
            throw Failure(.failed, "no process left: \(error)")
        }
        pipeEnd = ends[1]
    }

    /// Puts a process under its care, by its number.
    func watch(_ process: Int32) {
        let line = Array("\(process)\n".utf8)
        _ = write(pipeEnd, line, line.count)
    }

    /// Ends the shell without its doing anything.
    func dismiss() async {
        shell.signal(SIGKILL)
        await shell.waitForEnd()
        close(pipeEnd)
    }
}
