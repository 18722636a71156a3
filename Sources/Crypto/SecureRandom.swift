import COpenSSL

/// Random bytes of OpenSSL's generator, fit for keys.
package enum SecureRandom {
    /// Traps when the system has no entropy: nothing that needs it could go on safely.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0 && count <= Int(Int32.max), "cannot make \(count) random bytes")
        var bytes = [UInt8](repeating: 0, count: count)
        guard count > 0 else { return bytes }
        precondition(RAND_bytes(&bytes, Int32(count)) == 1, "the system's random generator failed")
        return bytes
    }
}
