internal import EventLoop
internal import Glibc

/// Where a cluster's files lie.
///
/// Mostly `DIR/postgres`. Started as root with a folder that the database's user cannot enter (below `/root`, say), the
/// files go to `/var/lib/touchline/clusters/…` instead, and `DIR/postgres.location` says where.
struct ClusterPlace: Sendable {
    let directory: String
    let owner: ClusterOwner
    /// The absolute path of PostgreSQL's own data directory.
    let data: String
    /// Whether `data` had to be put outside `directory`.
    let isElsewhere: Bool

    private static let elsewhere = "/var/lib/touchline/clusters"

    init(in directory: String, by deadline: ContinuousClock.Instant) async throws(PGError) {
        let isNew = !Files.exists(directory)
        try Files.makeDirectories(directory, mode: 0o700)
        guard let directory = Files.resolved(directory) else { throw Files.failure("cannot open", directory) }
        self.directory = directory
        let location = "\(directory)/postgres.location"
        if let recorded = Files.read(location)?.split(separator: "\n").first.map(String.init) {
            guard let recorded = Files.resolved(recorded) else {
                throw PGError(
                    .configuration,
                    "the cluster of \(directory) is gone from where \(location) says: remove that file to begin with an empty one"
                )
            }
            data = recorded
            owner = try ClusterOwner(of: data)
            isElsewhere = true
            return
        }
        let inside = "\(directory)/postgres"
        owner = try ClusterOwner(of: inside)
        if let user = owner.user {
            try Self.letThrough(directory, isOurs: isNew)
            guard try await Self.canEnter(directory, user, by: deadline) else {
                data = try Self.makeElsewhere(location)
                isElsewhere = true
                return
            }
        }
        data = inside
        isElsewhere = false
    }

    var exists: Bool { Files.exists("\(data)/PG_VERSION") }
    var logFile: String { "\(directory)/postgres.log" }
    var version: Int? { Files.read("\(data)/PG_VERSION").flatMap { Int($0.prefix { $0.isNumber }) } }

    /// Deletes the cluster's files, of a server that has stopped.
    func remove() {
        Files.removeTree(data)
        if isElsewhere { unlink("\(directory)/postgres.location") }
    }

    /// Entering is allowed, listing is not: what is secret in the folder has mode 0600 itself.
    private static func letThrough(_ directory: String, isOurs: Bool) throws(PGError) {
        guard let mode = Files.mode(directory), mode & 0o001 == 0 else { return }
        guard isOurs || Files.owner(directory) == 0 else { return }
        guard chmod(directory, mode | 0o011) == 0 else { throw Files.failure("cannot change the mode of", directory) }
    }

    /// Asks the system rather than reading modes: access lists and security modules have their say too.
    private static func canEnter(
        _ directory: String,
        _ user: String,
        by deadline: ContinuousClock.Instant
    ) async throws(PGError) -> Bool {
        var options = ChildProcess.Options("/usr/bin/test", ["-x", "\(directory)/."])
        options.user = user
        do {
            return try await ChildProcess.run(options, by: deadline).ending?.isSuccess ?? false
        } catch {
            throw PGError(.configuration, error.description)
        }
    }

    private static func makeElsewhere(_ location: String) throws(PGError) -> String {
        try Files.makeDirectories(elsewhere, mode: 0o755)
        var name = ""
        for _ in 0..<4 { name += String(UInt16.random(in: .min ... .max), radix: 36) }
        let data = "\(elsewhere)/\(name)"
        try Files.makeDirectories(data, mode: 0o700)
        try Files.write(data + "\n", to: location, mode: 0o600)
        return Files.resolved(data) ?? data
    }
}
