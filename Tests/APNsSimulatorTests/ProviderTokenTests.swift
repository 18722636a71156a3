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
