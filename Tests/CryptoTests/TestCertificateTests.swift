import Crypto
import Foundation
import Testing

@Suite("The simulator's certificate")
struct TestCertificateTests {
    @Test("is signed by its authority and names loopback, as openssl reads it")
    func verifies() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "touchline-crypto-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try TestCertificate.make(directory: folder.path)
        #expect(
            try openssl("verify", "-x509_strict", "-CAfile", files.caFile, files.certificateFile).hasSuffix(": OK\n")
        )
        let names = try openssl("x509", "-in", files.certificateFile, "-noout", "-ext", "subjectAltName")
        #expect(names.contains("DNS:localhost") && names.contains("IP Address:127.0.0.1"))
        let mode = try FileManager.default.attributesOfItem(atPath: files.keyFile)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(throws: Never.self) { try P256PrivateKey(pem: String(contentsOfFile: files.keyFile, encoding: .utf8)) }
    }

    private func openssl(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
