import Crypto
import Testing

@Suite("Digests, ciphers and text forms")
struct DigestAndCipherTests {
    @Test("SHA-256 of the FIPS examples")
    func hashes() {
        #expect(
            Hex.encode(SHA256.hash("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(
            Hex.encode(SHA256.hash([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        )
        #expect(SHA256.hash(Array("xabc".utf8)[1...]) == SHA256.hash("abc"))
    }

    @Test("what is sealed opens with the same key and data only", arguments: [0, 1, 16, 1_000])
    func seals(size: Int) throws {
        let key = SecureRandom.bytes(32)
        let plaintext = SecureRandom.bytes(size)
        let data = Array("tenant/app".utf8)
        let sealed = try AESGCM.seal(plaintext, key: key, additionalData: data)
        #expect(sealed.count == size + 28)
        #expect(try AESGCM.open(sealed, key: key, additionalData: data) == plaintext)
        #expect(try AESGCM.seal(plaintext, key: key, additionalData: data) != sealed)
        #expect(throws: CryptoError.notAuthentic) { try AESGCM.open(sealed, key: key) }
        #expect(throws: CryptoError.notAuthentic) {
            try AESGCM.open(sealed, key: SecureRandom.bytes(32), additionalData: data)
        }
        for index in [0, sealed.count - 1] {
            var changed = sealed
            changed[index] ^= 0x80
            #expect(throws: CryptoError.notAuthentic) { try AESGCM.open(changed, key: key, additionalData: data) }
        }
        #expect(throws: CryptoError.notAuthentic) { try AESGCM.open([1, 2, 3], key: key) }
        #expect(throws: CryptoError.wrongSize(what: "the key", bytes: 5, expected: 32)) {
            try AESGCM.seal(plaintext, key: [1, 2, 3, 4, 5])
        }
    }

    @Test(
        "base64 of RFC 4648",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ]
    )
    func base64(plain: String, text: String) {
        #expect(Base64.encode(plain.utf8) == text)
        #expect(Base64.decode(text) == Array(plain.utf8))
        let bare = String(text.filter { $0 != "=" })
        #expect(Base64URL.encode(plain.utf8) == bare)
        #expect(Base64URL.decode(bare) == Array(plain.utf8))
    }

    @Test("base64 that is not", arguments: ["Zg", "Zg=", "Zh==", "Zm9v\n", "Zm9-", "=", "====", "Z===", "Zg==Zg=="])
    func badBase64(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("the two alphabets differ in two digits")
    func alphabets() {
        let bytes: [UInt8] = [0xFB, 0xFF, 0xBF]
        #expect(Base64.encode(bytes) == "+/+/")
        #expect(Base64URL.encode(bytes) == "-_-_")
        #expect(Base64URL.decode("+/+/") == nil)
    }

    @Test("hexadecimal")
    func hex() {
        #expect(Hex.encode([0x00, 0xAB, 0xFF]) == "00abff")
        #expect(Hex.decode("00aBFf") == [0x00, 0xAB, 0xFF])
        #expect(Hex.decode("0") == nil)
        #expect(Hex.decode("0g") == nil)
    }

    @Test("comparison in constant time still compares")
    func constantTime() {
        #expect(ConstantTime.equal([1, 2], [1, 2]))
        #expect(!ConstantTime.equal([1, 2], [1, 3]))
        #expect(!ConstantTime.equal([1, 2], [1]))
    }
}
