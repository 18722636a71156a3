internal import Glibc

/// What libpq takes from the environment: `PGPORT`, `PGSERVICE`, `PGTZ`, `PGOPTIONS` and some thirty more.
///
/// They complete an operator's connection string, as everywhere. For a server of one's own nothing is left to complete, and
/// each of them breaks something: another port, another service, a time zone that the server does not know.
package enum LibpqEnvironment {
    /// Removes them from this process, since libpq offers no other way: an option that is given as empty counts as not
    /// given. Before the first connection: others must not read the environment meanwhile.
    ///
    /// - Returns: The names of those that were there.
    @discardableResult
    package static func clear() -> [String] {
        var names: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let name = String(cString: text).prefix { $0 != "=" }
            if name.hasPrefix("PG"), name.count > 2 { names.append(String(name)) }
            entry += 1
        }
        for name in names { unsetenv(name) }
        return names.sorted()
    }
}
