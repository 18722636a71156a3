// swift-tools-version: 6.2
import PackageDescription

/// Set where the tests run: a stranger's newer compiler, with warnings of its own, must still build Touchline.
let isStrict = Context.environment["TOUCHLINE_STRICT"] == "1"

/// What every module is compiled with.
let common: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (isStrict ? [.treatAllWarnings(as: .error)] : [])

/// For the modules through which every push goes: a tenth of its CPU is spent on asking whether two accesses to one
/// variable overlap. The tests ask; a release does not.
let hot: [SwiftSetting] = common + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// For the modules that touch no pointer.
let pure: [SwiftSetting] = common + [.strictMemorySafety()]

let package = Package(
    name: "touchline",
    products: [
        .executable(name: "touchline", targets: ["touchline"]),
        .executable(name: "apns-simulator", targets: ["apns-simulator"]),
        .executable(name: "loadtest", targets: ["loadtest"]),
    ],
    targets: [
        // The three C libraries, and what Linux has beside Swift's own Glibc module.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Lines for the operator. Any module may take a `Logger`.
        .target(name: "Log", swiftSettings: common),

        // Sockets, TLS, HTTP.
        .target(name: "EventLoop", dependencies: ["CLinux"], swiftSettings: hot),
        .target(name: "Crypto", dependencies: ["COpenSSL"], swiftSettings: common),
        .target(name: "HTTP2", dependencies: ["CLinux", "EventLoop", "CNghttp2", "COpenSSL"], swiftSettings: hot),
        .target(name: "HTTPServer", dependencies: ["EventLoop", "HTTP2"], swiftSettings: common),
        .target(name: "PostgreSQL", dependencies: ["CLibPQ", "CLinux", "EventLoop"], swiftSettings: common),

        // Values without I/O.
        .target(name: "APNsProtocol", swiftSettings: pure),
        .target(name: "Core", dependencies: ["APNsProtocol"], swiftSettings: pure),

        // The service.
        .target(
            name: "APNs",
            dependencies: ["APNsProtocol", "Crypto", "EventLoop", "HTTP2", "Log"],
            swiftSettings: hot
        ),
        .target(name: "Schema", path: "sql", resources: [.embedInCode("migrations")], swiftSettings: pure),
        .target(
            name: "Store",
            dependencies: ["APNsProtocol", "Core", "Crypto", "EventLoop", "PostgreSQL", "Schema"],
            swiftSettings: common
        ),
        .target(
            name: "Server",
            dependencies: [
                "APNs", "APNsProtocol", "CLinux", "Core", "Crypto", "EventLoop", "HTTP2", "HTTPServer", "Log",
                "PostgreSQL", "Store",
            ],
            swiftSettings: common
        ),

        // The simulator shares no code with the client's protocol.
        .target(
            name: "APNsSimulator",
            dependencies: ["Crypto", "EventLoop", "HTTP2", "HTTPServer"],
            swiftSettings: common
        ),

        // Executables: parse, wire, exit code. What they share: the command line, a client of the API, companions.
        .target(
            name: "Executables",
            dependencies: ["CLinux", "Core", "EventLoop", "HTTP2"],
            swiftSettings: common
        ),
        .executableTarget(
            name: "touchline",
            dependencies: [
                "APNs", "APNsProtocol", "CLinux", "Core", "Crypto", "EventLoop", "Executables", "HTTP2", "Log",
                "PostgreSQL", "Server", "Store",
            ],
            swiftSettings: common
        ),
        .executableTarget(
            name: "apns-simulator",
            dependencies: ["APNsSimulator"],
            path: "Sources/apns-simulator",
            swiftSettings: common
        ),
        .executableTarget(
            name: "loadtest",
            dependencies: [
                "APNs", "APNsProtocol", "Core", "Crypto", "EventLoop", "Executables", "HTTP2", "PostgreSQL",
            ],
            path: "loadtest",
            exclude: [
                "README.md", "RESULTS.md", "allocations.c", "allocations.py", "clocks.py", "cluster.py", "flood.py",
                "live.py", "oddpeer.py", "outages.py", "peers.py", "processes.py", "stage.py", "stalls.py",
                "sweep.py",
            ],
            resources: [.embedInCode("scenarios")],
            swiftSettings: common
        ),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "APNs", "APNsProtocol", "APNsSimulator", "EventLoop", "HTTP2", "Log", "PostgreSQL", "Store",
            ],
            path: "Tests/TestSupport",
            swiftSettings: common
        ),
        .testTarget(name: "LogTests", dependencies: ["EventLoop", "Log", "TestSupport"], swiftSettings: common),
        .testTarget(name: "EventLoopTests", dependencies: ["CLinux", "EventLoop"], swiftSettings: common),
        .testTarget(name: "CryptoTests", dependencies: ["Crypto"], swiftSettings: common),
        .testTarget(
            name: "HTTP2Tests",
            dependencies: ["CNghttp2", "COpenSSL", "Crypto", "EventLoop", "HTTP2", "TestSupport"],
            swiftSettings: common
        ),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: ["Crypto", "EventLoop", "HTTP2", "HTTPServer", "TestSupport"],
            swiftSettings: common
        ),
        .testTarget(
            name: "PostgreSQLTests",
            dependencies: ["EventLoop", "PostgreSQL", "TestSupport"],
            swiftSettings: common
        ),
        .testTarget(name: "APNsProtocolTests", dependencies: ["APNsProtocol"], swiftSettings: common),
        .testTarget(name: "CoreTests", dependencies: ["APNsProtocol", "Core"], swiftSettings: common),
        .testTarget(
            name: "APNsTests",
            dependencies: [
                "APNs", "APNsProtocol", "APNsSimulator", "Crypto", "EventLoop", "HTTP2", "Log", "TestSupport",
            ],
            swiftSettings: common
        ),
        .testTarget(
            name: "APNsSimulatorTests",
            dependencies: ["APNsSimulator", "Crypto", "EventLoop", "HTTP2", "TestSupport"],
            swiftSettings: common
        ),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "APNsProtocol", "Core", "Crypto", "EventLoop", "PostgreSQL", "Schema", "Store", "TestSupport",
            ],
            swiftSettings: common
        ),
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "APNs", "APNsProtocol", "APNsSimulator", "Core", "Crypto", "EventLoop", "HTTP2", "HTTPServer", "Log",
                "PostgreSQL", "Server", "Store", "TestSupport",
            ],
            swiftSettings: common
        ),
        .testTarget(name: "ExecutablesTests", dependencies: ["Executables"], swiftSettings: common),
        .testTarget(
            name: "TouchlineTests",
            dependencies: [
                "APNsProtocol", "APNsSimulator", "Core", "Crypto", "EventLoop", "Executables", "HTTP2", "HTTPServer",
                "Log", "PostgreSQL", "Server", "Store", "TestSupport", "touchline",
            ],
            swiftSettings: common
        ),
        .testTarget(
            name: "LoadTestTests",
            dependencies: ["APNs", "APNsProtocol", "EventLoop", "Executables", "loadtest"],
            swiftSettings: common
        ),
        .testTarget(name: "TidyTests", swiftSettings: common),
    ],
    swiftLanguageModes: [.v6]
)
