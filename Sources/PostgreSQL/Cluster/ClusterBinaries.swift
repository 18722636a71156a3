internal import EventLoop
internal import Glibc

/// Where PostgreSQL's server programs are: Debian keeps them out of `PATH`.
struct ClusterBinaries {
    let initdb: String
    let postgres: String

    /// - Throws: ``PGError`` of kind configuration, with the line that installs them.
    init(serverVersion: Int? = nil) throws(PGError) {
        let directories = Self.directories(for: serverVersion)
        guard
            let initdb = ChildProcess.find("initdb", in: directories),
            let postgres = ChildProcess.find("postgres", in: directories)
        else {
            let wanted = serverVersion.map { " \($0)" } ?? ""
            throw PGError(
                .configuration,
                """
                PostgreSQL\(wanted) is not installed: apt-get install \(serverVersion.map { "postgresql-\($0)" } ?? "postgresql"), \
                or set DATABASE_URL to use a server elsewhere
                """
            )
        }
        self.initdb = initdb
        self.postgres = postgres
    }

    /// The newest first; a cluster that exists needs the version that made it.
    private static func directories(for version: Int?) -> [String] {
        let root = "/usr/lib/postgresql"
        if let version { return ["\(root)/\(version)/bin"] }
        let versions = Files.entries(of: root).compactMap(Int.init).sorted(by: >)
        return versions.filter { $0 >= 14 }.map { "\(root)/\($0)/bin" }
    }
}
