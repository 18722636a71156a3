import Testing

@Suite("The imports of the modules")
struct ImportTests {
    /// Which modules may see a C library.
    private static let owners: [String: Set<String>] = [
        "CNghttp2": ["Sources/HTTP2"],
        "COpenSSL": ["Sources/HTTP2", "Sources/Crypto"],
        "CLibPQ": ["Sources/PostgreSQL"],
    ]

    /// What a module must not import, and why it would be wrong.
    private static let strangers: [(module: String, imports: Set<String>, why: String)] = [
        (
            "Sources/APNsSimulator", ["APNs", "APNsProtocol", "Core", "Store", "Server"],
            "it must catch what they get wrong"
        ),
        ("Sources/apns-simulator", ["APNs", "APNsProtocol", "Core", "Store", "Server"], "it is useful by itself"),
        ("Sources/Core", ["EventLoop", "HTTP2", "PostgreSQL", "Glibc", "Foundation"], "it is pure"),
        ("Sources/APNsProtocol", ["EventLoop", "HTTP2", "Crypto", "Core", "Glibc", "Foundation"], "it is values only"),
        ("Sources/APNs", ["PostgreSQL", "Core", "Store", "Server"], "it knows no matches"),
        (
            "Sources/Log", ["EventLoop", "HTTP2", "Core", "APNs", "Store", "Server", "Foundation"],
            "every module may write a line"
        ),
        ("Sources/EventLoop", ["HTTP2", "COpenSSL", "CNghttp2"], "it knows no HTTP"),
        ("Sources/HTTP2", ["APNs", "APNsProtocol", "Core"], "it knows no APNs"),
        ("Sources/PostgreSQL", ["Core", "Store", "HTTP2"], "it knows no matches"),
        ("Sources/Store", ["HTTP2", "HTTPServer", "APNs", "Server"], "it knows no HTTP"),
    ]

    @Test("show a C library to its owners only")
    func cLibrariesHaveOwners() throws {
        for file in try SourceTree.files(in: ["Sources", "sql", "loadtest"]) {
            for name in file.imports {
                guard let owners = Self.owners[name] else { continue }
                #expect(owners.contains(file.module), "\(file) imports \(name)")
            }
        }
    }

    @Test("point downwards")
    func pointDownwards() throws {
        let files = try SourceTree.files(in: ["Sources"])
        for (module, forbidden, why) in Self.strangers {
            for file in files where file.module == module {
                #expect(forbidden.isDisjoint(with: file.imports), "\(file) imports what it must not: \(why)")
            }
        }
    }

    @Test("leave FoundationNetworking out, which drags libcurl in")
    func noFoundationNetworking() throws {
        for file in try SourceTree.files() {
            #expect(!file.imports.contains("FoundationNetworking"), "\(file)")
        }
    }

    @Test("are found at all")
    func areFound() throws {
        let files = try SourceTree.files()
        #expect(files.count > 50)
        #expect(files.contains { $0.module == "Sources/HTTP2" && $0.imports.contains("COpenSSL") })
    }
}
