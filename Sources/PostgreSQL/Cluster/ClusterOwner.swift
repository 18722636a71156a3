internal import Glibc

/// The user that a cluster's server runs as: PostgreSQL refuses to be root.
struct ClusterOwner: Equatable, Sendable {
    let name: String
    let userID: uid_t
    let groupID: gid_t

    /// Ourselves; as root the owner of `cluster`, if it exists, else the user `postgres`, which Debian's package makes.
    ///
    /// - Throws: ``PGError`` of kind configuration, as root without such a user.
    init(of cluster: String) throws(PGError) {
        guard geteuid() == 0 else {
            name = ""
            userID = geteuid()
            groupID = getegid()
            return
        }
        let existing = Files.owner(cluster).flatMap { $0 == 0 ? nil : getpwuid($0) }
        guard let entry = existing ?? getpwnam("postgres") else {
            throw PGError(
                .configuration,
                "PostgreSQL does not run as root, and there is no user `postgres` to run it: apt-get install postgresql"
            )
        }
        name = String(cString: entry.pointee.pw_name)
        userID = entry.pointee.pw_uid
        groupID = entry.pointee.pw_gid
    }

    /// For `setpriv`; nil where we are that user already.
    var user: String? { name.isEmpty ? nil : name }
}
