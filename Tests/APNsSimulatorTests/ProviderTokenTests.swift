import Testing

@testable import APNsSimulator

@Suite("Provider tokens")
struct ProviderTokenTests {
    let now = CheckBench.now

    @Test(
        "age decides, an hour each way",
        arguments: [
            (-3601, "ExpiredProviderToken"), (-3600, ""), (0, ""), (3600, ""), (3601, "InvalidProviderToken"),
        ] as [(Int64, String)]
    )
    func age(offset: Int64, reason: String) throws {
        let provider = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        let result = verifier.verify(try provider.authorization(issuedAt: now + offset), now: now)
        switch result {
        case .success(let token):
            #expect(reason.isEmpty)
            #expect(token == VerifiedToken(teamID: provider.teamID, keyID: provider.keyID, issuedAt: now + offset))
        case .failure(let rejection): #expect(rejection == Rejection(403, reason))
        }
    }

    @Test("a token that was good expires")
    func cachedTokenExpires() throws {
        let provider = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        let text = try provider.authorization(issuedAt: now)
        #expect(throws: Never.self) { try verifier.verify(text, now: now).get() }
        #expect(throws: Rejection(403, "ExpiredProviderToken")) { try verifier.verify(text, now: now + 3601).get() }
        #expect(verifier.tokensSeen == 1)
    }

    @Test("another key, another algorithm, a changed claim are invalid; iat as text is taken")
    func signatures() throws {
        let provider = try TestProvider()
        let stranger = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        let invalid = Rejection(403, "InvalidProviderToken")
        #expect(throws: invalid) { try verifier.verify(stranger.authorization(issuedAt: now), now: now).get() }
        #expect(throws: invalid) {
            try verifier.verify(provider.authorization(issuedAt: now, algorithm: "HS256"), now: now).get()
        }
        let good = try provider.authorization(issuedAt: now).split(separator: ".")
        let other = try provider.authorization(issuedAt: now - 1).split(separator: ".")
        #expect(throws: invalid) { try verifier.verify("\(good[0]).\(other[1]).\(good[2])", now: now).get() }
        let text = try provider.authorization(issuedAt: now, issuedAtAsText: true)
        #expect(try verifier.verify(text, now: now).get().issuedAt == now)
    }

    @Test(
        "iat is taken as the clients of this world write it: whole, a fraction, an exponent, text",
        arguments: ["1765518754", "1765518754.25", "1.765518754e9", "\"1765518754\"", "\"1765518754.9\""]
    )
    func issuedAt(claim: String) throws {
        let provider = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        let now: Int64 = 1_765_518_760
        #expect(try verifier.verify(provider.authorization(claim: claim), now: now).get().issuedAt == 1_765_518_754)
    }

    @Test(
        "what is no time is no iat",
        arguments: ["null", "true", "\"\"", "\"now\"", "[]", "{}", "1e300", "\"nan\"", "\"inf\""]
    )
    func noTime(claim: String) throws {
        let provider = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        let text = try provider.authorization(claim: claim)
        #expect(throws: Rejection(403, "InvalidProviderToken")) { try verifier.verify(text, now: now).get() }
    }

    @Test(
        "a fraction does not make a token older or younger than an hour",
        arguments: [("3599.5", ""), ("3600.5", "ExpiredProviderToken")]
    )
    func fractionalAge(age: String, reason: String) throws {
        let provider = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        let claim = "\(now - (age == "3599.5" ? 3600 : 3601)).5"
        let result = verifier.verify(try provider.authorization(claim: claim), now: now)
        if case .failure(let rejection) = result {
            #expect(rejection == Rejection(403, reason))
        } else {
            #expect(reason.isEmpty)
        }
    }

    @Test("a signature in DER is as good as R and S, many times over")
    func derSignatures() throws {
        let provider = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        // R and S begin with zeros or a set bit now and then, which DER writes differently.
        for number in 0..<200 {
            let text = try provider.authorization(claim: "\(now - Int64(number))", change: TestProvider.der)
            #expect(throws: Never.self) { try verifier.verify(text, now: now).get() }
        }
    }

    @Test("what is nearly DER is no signature", arguments: [0, 1, 2, 3, 4])
    func brokenDER(kind: Int) throws {
        let provider = try TestProvider()
        let verifier = ProviderTokenVerifier([provider.credential()])
        let text = try provider.authorization(claim: "\(now)") { signature in
            var der = TestProvider.der(signature)
            switch kind {
            case 0: der.removeLast()
            case 1: der.append(0)
            case 2: der[der.count - 1] ^= 1
            case 3: der = []
            default: der = TestProvider.der(Array(signature[32...] + signature[..<32]))
            }
            return der
        }
        #expect(throws: Rejection(403, "InvalidProviderToken")) { try verifier.verify(text, now: now).get() }
    }

    @Test("one connection takes one key, and one new token in twenty minutes")
    func connection() throws {
        var binding = ConnectionBinding()
        func token(_ keyID: String = "K", team: String = "T") -> VerifiedToken {
            VerifiedToken(teamID: team, keyID: keyID, issuedAt: now)
        }
        #expect(binding.admit(token(), text: "a", now: now) == nil)
        #expect(binding.admit(token("L"), text: "b", now: now) == .otherKey)
        #expect(binding.admit(token(team: "U"), text: "b", now: now) == .otherKey)
        #expect(binding.admit(token(), text: "c", now: now + 5) == nil)
        #expect(binding.admit(token(), text: "a", now: now + 6) == nil)
        #expect(binding.admit(token(), text: "d", now: now + 1204) == .tooManyUpdates)
        #expect(binding.admit(token(), text: "d", now: now + 1205) == nil)
    }
}
