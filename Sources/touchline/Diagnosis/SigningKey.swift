internal import APNs
internal import APNsProtocol
internal import Crypto
internal import Executables

/// A `.p8` with the ids that it is used under.
struct SigningKey: Sendable {
    let key: P256PrivateKey
    let team: TeamID
    let keyID: KeyID

    /// Signs a provider token, valid for an hour.
    ///
    /// - Parameter now: UNIX seconds.
    /// - Returns: The JWT.
    /// - Throws: `failed` when OpenSSL cannot sign.
    func providerToken(at now: Int64) throws(Failure) -> String {
        do {
            return try ProviderTokenSigner.sign(key: key, team: team, keyID: keyID, issuedAt: now)
        } catch {
            throw Failure(.failed, "the key cannot sign: \(error)")
        }
    }
}

extension SigningKey {
    static let options = [
        Option("--p8", "FILE", isRequired: true, "the APNs key, AuthKey_….p8"),
        Option("--team", "TEAM", isRequired: true, otherNames: ["--team-id"], "Apple's team id, 10 characters"),
        Option("--key", "KEY", isRequired: true, otherNames: ["--key-id"], "the key's id, 10 characters"),
    ]

    /// - Throws: `wrongUse` for what no key and no id can be.
    init(_ invocation: Invocation) throws(Failure) {
        let file = try invocation.required("--p8")
        team = try invocation.wrapped("--team")
        keyID = try invocation.wrapped("--key")
        let pem: [UInt8]
        do throws(Failure) { pem = try File.read(file) } catch {
            throw Failure(.wrongUse, error.message, hint: "--p8 names Apple's file, AuthKey_<key id>.p8.")
        }
        do {
            key = try P256PrivateKey(pem: String(decoding: pem, as: UTF8.self))
        } catch {
            let what = if case .key(let fault) = error { "\(fault)" } else { "\(error)" }
            throw Failure(
                .wrongUse,
                "\(file) is no APNs key: \(what)",
                hint: "Apple's file is AuthKey_<key id>.p8. See \(Trouble.providerTokens.place)"
            )
        }
    }
}

extension Invocation {
    /// The option's value, which must be there and pass its type's allow-list.
    func wrapped<Text: WrappedText>(_ name: String, as type: Text.Type = Text.self) throws(Failure) -> Text {
        let text = try required(name)
        guard let value = Text(validating: text) else {
            throw Failure(.wrongUse, "\(name) must be \(Text.rule), not “\(text)”", hint: "Try: \(command.example)")
        }
        return value
    }

    /// The same, where there is one.
    func optionalWrapped<Text: WrappedText>(_ name: String, as type: Text.Type = Text.self) throws(Failure) -> Text? {
        value(name) == nil ? nil : try wrapped(name) as Text
    }
}
