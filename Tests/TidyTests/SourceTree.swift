import Foundation

/// The repository's Swift files, as text.
struct SourceTree {
    struct File: CustomStringConvertible, Sendable {
        /// From the repository's root: `Sources/HTTP2/Transport.swift`.
        let path: String
        let lines: [String]

        var description: String { path }

        /// The module's folder: `Sources/HTTP2`, `loadtest`.
        var module: String {
            let parts = path.split(separator: "/")
            return ["Sources", "Tests"].contains(parts[0]) ? parts.prefix(2).joined(separator: "/") : String(parts[0])
        }

        /// The modules that it imports.
        var imports: [String] {
            lines.compactMap { line in
                let words = line.split(separator: " ").map(String.init)
                guard let index = words.firstIndex(of: "import"), index <= 2, index + 1 < words.count,
                    words[..<index].allSatisfy({ $0.hasPrefix("@") || Self.levels.contains($0) })
                else { return nil }
                return words[index + 1].split(separator: ".").first.map(String.init)
            }
        }

        /// The lines without comments, with their numbers from 1.
        var code: [(number: Int, text: String)] {
            lines.enumerated().map { index, line in
                (index + 1, line.range(of: "//").map { String(line[..<$0.lowerBound]) } ?? line)
            }
        }

        private static let levels: Set<String> = ["internal", "package", "public", "private", "fileprivate"]
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Any one file, by its path from the repository's root.
    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Every Swift file of `folders`.
    static func files(in folders: [String] = ["Sources", "sql", "loadtest", "Tests"]) throws -> [File] {
        var files: [File] = []
        for folder in folders {
            let base = root.appending(path: folder)
            guard let found = FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil) else {
                continue
            }
            for case let url as URL in found where url.pathExtension == "swift" {
                let text = try String(contentsOf: url, encoding: .utf8)
                files.append(
                    File(
                        path: String(url.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1)),
                        lines: text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
                    )
                )
            }
        }
        return files
    }
}
