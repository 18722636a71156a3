import FoundationEssentials

/// Files that a command line names.
package enum File {
    /// All of the file; `-` is standard input.
    package static func read(_ path: String) throws(Failure) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: URL(filePath: path == "-" ? "/dev/stdin" : path)))
        } catch {
            throw Failure(.failed, "cannot read \(path): \(Self.reason(error))")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile: "there is no such file"
        case .fileReadNoPermission: "not allowed"
        case let code?: "error \(code.rawValue)"
        case nil: "\(error)"
        }
    }
}

extension String {
    /// Without the blanks and line ends around it.
    package var trimmed: String {
        var rest = self[...]
        while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
        return String(rest.drop(while: \.isWhitespace))
    }
}
