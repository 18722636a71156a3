import COpenSSL
import Crypto
import EventLoop
import Foundation
import Glibc
import TestSupport
import Testing

@testable import HTTP2

@Suite("A certificate that is refused", .timeLimit(.minutes(5)))
struct CertificateTroubleTests {
    /// 2026-07-19 20:46 UTC.
    private static let now: Int64 = 1_784_493_963
    private static let facts = CertificateFacts(
        subject: "“api.push.apple.com”",
        issuer: "“Acme Web Gateway”",
        notBefore: now - 86_400,
        notAfter: now + 86_400,
        names: ["*.acme.example", "acme.example"]
    )

    @Test(
        "says whether it is the clock, a proxy, the CA or the name",
        arguments: [
            (X509_V_ERR_CERT_NOT_YET_VALID, ["begins on 2026-07-18 20:46 UTC", "it is 2026-07-19 20:46 UTC", "clock"]),
            (X509_V_ERR_CERT_HAS_EXPIRED, ["ended on 2026-07-20 20:46 UTC", "it is 2026-07-19 20:46 UTC", "clock"]),
            (X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, ["“api.push.apple.com” vouches for itself", "proxy", "/ca.pem"]),
            (X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, ["vouches for itself", "proxy", "CA", "/ca.pem"]),
            (
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                ["issued by “Acme Web Gateway”", "not among the roots in /ca.pem", "CA", "proxy"]
            ),
            (X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, ["issued by “Acme Web Gateway”"]),
            (X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, ["issued by “Acme Web Gateway”"]),
            (
                X509_V_ERR_HOSTNAME_MISMATCH,
                ["for *.acme.example, acme.example, and not for api.push.apple.com", "proxy"]
            ),
            (X509_V_ERR_IP_ADDRESS_MISMATCH, ["*.acme.example"]),
            (X509_V_ERR_CERT_REVOKED, ["certificate revoked", "issued by “Acme Web Gateway”"]),
        ] as [(Int32, [String])]
    )
    func sentences(code: Int32, parts: [String]) {
        let trouble = CertificateTrouble(
            code: code,
            certificate: Self.facts,
            serverName: "api.push.apple.com",
            roots: "the roots in /ca.pem"
        )
        let sentence = trouble.sentence(now: Self.now)
        for part in parts { #expect(sentence.contains(part), "\(sentence)") }
    }

    private enum Peer: CaseIterable {
        case notYetValid, expired, otherName, unknownIssuer, ownRoot

        var parts: [String] {
            switch self {
            case .notYetValid: ["not yet valid", "begins on", "clock"]
            case .expired: ["expired", "ended on", "clock"]
            case .otherName: ["it is for one.example, two.example, and not for localhost"]
            case .unknownIssuer: ["issued by “Touchline test authority”", "not among the roots in", "other-ca.pem"]
            case .ownRoot: ["“Touchline test authority” vouches for itself", "proxy"]
            }
        }
    }

    @Test("is told so by OpenSSL's own verdict", arguments: Peer.allCases)
    private func verdicts(peer: Peer) async throws {
        let folder = try #require(TemporaryFolder.make(prefix: "/tmp/touchline-tests-"))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let validity: Range<Int> =
            switch peer {
            case .notYetValid: 3600..<7200
            case .expired: -7200 ..< -3600
            default: TestCertificate.thirtyDays
            }
        let files = try TestCertificate.make(
            dnsNames: peer == .otherName ? ["one.example", "two.example"] : ["localhost"],
            validity: validity,
            directory: folder
        )
        var (trusted, presented) = (files.caFile, files.certificateFile)
        if peer == .unknownIssuer || peer == .ownRoot {
            try FileManager.default.createDirectory(atPath: "\(folder)/other", withIntermediateDirectories: true)
            let other = try TestCertificate.make(directory: "\(folder)/other")
            trusted = "\(folder)/other-ca.pem"
            try FileManager.default.copyItem(atPath: other.caFile, toPath: trusted)
        }
        if peer == .ownRoot {
            presented = "\(folder)/chain.pem"
            let chain = try [files.certificateFile, files.caFile].map {
                try String(contentsOfFile: $0, encoding: .utf8)
            }
            try chain.joined().write(toFile: presented, atomically: true, encoding: .utf8)
        }
        let client = TransportPeer(loop: TestLoops.near)
        let server = TransportPeer(loop: TestLoops.far)
        let (left, right) = makeSocketPair()
        let serverTLS = try TLSContext.server(certificateFile: presented, keyFile: files.keyFile, alpn: ["h2"])
        try await client.adopt(left, tls: .client(caFile: trusted), role: .client(serverName: "localhost"))
        try await server.adopt(right, tls: serverTLS, role: .server)
        await client.until { $0.end != nil }
        let end = try #require(await client.end)
        #expect(end.hasPrefix("certificate refused: "))
        for part in peer.parts { #expect(end.contains(part), "\(end)") }
        await server.close()
    }
}
