internal import CLinux
internal import Glibc

/// One `posix_spawn`.
struct Launch {
    let processID: Int32
    /// Where the program's output is read, when it is kept.
    let outputEnd: Int32?

    init(_ options: ChildProcess.Options) throws(ChildProcessError) {
        let (executable, arguments) = try Self.command(options)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input = options.input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        var ends: [Int32] = [-1, -1]
        switch options.output {
        case .inherited: break
        case .discarded: posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        case .file(let path): posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        case .kept:
            guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Self.failure("pipe2", errno) }
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        }
        if case .inherited = options.output {} else { posix_spawn_file_actions_adddup2(&actions, 1, 2) }
        c_spawn_chdir_and_close(&actions, options.directory)
        var process: pid_t = 0
        let code = Self.spawn(&process, executable, arguments, options, &actions)
        if ends[1] >= 0 { close(ends[1]) }
        guard code == 0 else {
            if ends[0] >= 0 { close(ends[0]) }
            throw Self.failure(executable, code)
        }
        processID = process
        outputEnd = ends[0] >= 0 ? ends[0] : nil
    }

    private static func command(
        _ options: ChildProcess.Options
    ) throws(ChildProcessError) -> (executable: String, arguments: [String]) {
        guard let user = options.user else { return (options.executable, options.arguments) }
        guard let setpriv = ChildProcess.find("setpriv", in: ["/usr/bin", "/bin"]) else {
            throw ChildProcessError(description: "setpriv is missing (apt-get install util-linux)")
        }
        let become = ["--reuid", user, "--regid", user, "--init-groups", "--inh-caps=-all", "--", options.executable]
        return (setpriv, become + options.arguments)
    }

    private static func spawn(
        _ process: inout pid_t,
        _ executable: String,
        _ arguments: [String],
        _ options: ChildProcess.Options,
        _ actions: inout posix_spawn_file_actions_t
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        // Ignored signals would stay ignored in the program: SIGPIPE is, here.
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let session = options.hasOwnSession ? c_spawn_setsid : 0
        posix_spawnattr_setflags(&attributes, Int16(c_spawn_setsigmask | c_spawn_setsigdef | session))
        let argv = ([executable] + arguments).map { strdup($0) } + [nil]
        let environment = options.environment.map { variables in
            variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        }
        defer {
            argv.forEach { free($0) }
            environment?.forEach { free($0) }
        }
        guard let environment else {
            return posix_spawn(&process, executable, &actions, &attributes, argv, c_environment())
        }
        return posix_spawn(&process, executable, &actions, &attributes, argv, environment)
    }

    private static func failure(_ what: String, _ code: Int32) -> ChildProcessError {
        ChildProcessError(description: "\(what): \(String(cString: strerror(code)))")
    }
}

/// Runs `body` on a thread of its own, for calls that block. False when there is no thread left.
func startDetachedThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let code = pthread_create(
        &thread,
        nil,
        { context in
            if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
            return nil
        },
        box.toOpaque()
    )
    guard code == 0 else {
        box.release()
        return false
    }
    pthread_detach(thread)
    return true
}
