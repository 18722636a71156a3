import Foundation
import Testing

/// What API.md says of metrics, against what is served.
enum MetricsPage {
    /// The served families have a line in the table, and each line's family is served; labels stand there too. What the
    /// alerts name is served.
    static func check(_ served: String) throws {
        let page = try String(contentsOf: root.appending(path: "API.md"), encoding: .utf8)
        let section = try #require(
            page.components(separatedBy: "## Metrics").last?.components(separatedBy: "\n## ").first
        )
        var rows: [String: String] = [:]
        for line in section.split(separator: "\n") {
            guard let match = line.firstMatch(of: /^\| `(touchline_[a-z0-9_]+)` \| (\w+) \|/) else { continue }
            #expect(rows[String(match.1)] == nil, "\(match.1) stands there twice")
            rows[String(match.1)] = "\(match.2) \(line)"
        }
        var types: [String: String] = [:]
        for match in served.matches(of: /# TYPE (\w+) (\w+)/) { types[String(match.1)] = String(match.2) }
        #expect(types.count > 15)
        #expect(Set(types.keys) == Set(rows.keys))
        for (name, type) in types { #expect(rows[name]?.hasPrefix(type) == true, "\(name) is a \(type)") }
        for match in served.matches(of: /\n(touchline_\w+)\{([^}]*)\}/) {
            let name = String(match.1).replacing(/_(bucket|sum|count)$/, with: "")
            for label in String(match.2).matches(of: /(\w+)="([^"]*)"/) where label.1 != "le" {
                let row = rows[name] ?? rows[String(match.1)] ?? ""
                #expect(row.contains("`\(label.1)`"), "\(name) has the label \(label.1)")
                // Reasons are APNs' own.
                guard label.1 != "reason" else { continue }
                #expect(row.contains("`\(label.2)`"), "\(name) has \(label.1)=\(label.2)")
            }
        }
        for match in section.matches(of: /(touchline_\w+)/) { #expect(types[String(match.1)] != nil, "\(match.1)") }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
