import Crypto
import Testing

@Suite("A .p8 file as people paste it")
struct PrivateKeyTests {
    @Test(
        "loads with every line ending",
        arguments: [
            { (pem: String) in pem },
            { (pem: String) in pem.split(separator: "\n").joined(separator: "\r\n") + "\r\n" },
            { (pem: String) in pem.split(separator: "\n").joined(separator: "\n") },
            { (pem: String) in pem.split(separator: "\n").joined(separator: "\\n") },
            { (pem: String) in pem.split(separator: "\n").joined(separator: "\\r\\n") + "\\r\\n" },
            { (pem: String) in "\u{FEFF}  \n" + pem + "\n\n" },
            { (pem: String) in pem.split(separator: "\n").joined(separator: " ") },
        ] as [@Sendable (String) -> String]
    )
    func loads(change: @Sendable (String) -> String) throws {
        let key = try P256PrivateKey.generate()
        let read = try P256PrivateKey(pem: change(try key.pem))
        #expect(try read.publicKey.der == key.publicKey.der)
    }

    @Test("signs in the 64-byte form, and the public key verifies it")
    func signs() throws {
        let key = try P256PrivateKey.generate()
        let message = Array("header.claims".utf8)
        for _ in 0..<50 {  // R or S starts with a zero byte in one of 128
            let signature = try key.sign(message)
            try #require(signature.count == 64)
            #expect(key.publicKey.verify(signature, of: message))
        }
        var signature = try key.sign(message)
        signature[10] ^= 1
        #expect(!key.publicKey.verify(signature, of: message))
        #expect(!key.publicKey.verify([], of: message))
        #expect(try !P256PrivateKey.generate().publicKey.verify(key.sign(message), of: message))
    }

    @Test("is refused with what is wrong", arguments: refusals)
    func refuses(text: String, fault: KeyFault) throws {
        #expect(throws: CryptoError.key(fault)) { try P256PrivateKey(pem: text) }
    }

    @Test("never prints the key")
    func hidesKey() throws {
        let key = try P256PrivateKey.generate()
        let pem = try key.pem
        let body = pem.split(separator: "\n")[1]
        #expect(!"\(key)\(String(reflecting: key))".contains(body))
        var output = ""
        dump(key, to: &output)
        #expect(!output.contains("0x"))
        let cut = pem.split(separator: "\n").dropLast().joined(separator: "\n")
        let error = #expect(throws: CryptoError.self) { try P256PrivateKey(pem: cut) }
        #expect(!"\(String(describing: error))".contains(body))
    }

    private static let begin = "-----BEGIN PRIVATE KEY-----"
    private static let end = "-----END PRIVATE KEY-----"

    private static let refusals: [(String, KeyFault)] = [
        ("", .empty),
        (" \r\n\\n", .empty),
        ("MIGHAgEAMBMGByqGSM49", .notPEM),
        ("\(begin)\nMIGHAgEA\n", .unfinished),
        ("\(begin)\n*!*\n\(end)", .notBase64),
        ("\(begin)\nMIGH\n\(end)", .unreadable),
        ("\(begin)\n\(end)", .unreadable),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGH\n-----END ENCRYPTED PRIVATE KEY-----", .encrypted),
        ("-----BEGIN PUBLIC KEY-----\nMIGH\n-----END PUBLIC KEY-----", .publicKey),
        ("-----BEGIN CERTIFICATE-----\nMIGH\n-----END CERTIFICATE-----", .certificate),
        ("-----BEGIN X509 CRL-----\nMIGH\n-----END X509 CRL-----", .otherLabel("X509 CRL")),
        (secp384, .otherCurve("secp384r1")),
        (rsa, .otherAlgorithm("RSA")),
        (ed25519, .otherAlgorithm("ED25519")),
    ]
}
