import COpenSSL

/// Runs one OpenSSL step with an empty error queue before it and an empty one after it.
///
/// The queue belongs to the thread: an error left there would be reported by the next, unrelated call, TLS included.
func openSSL<Value>(_ body: () throws(CryptoError) -> Value) throws(CryptoError) -> Value {
    ERR_clear_error()
    defer { ERR_clear_error() }
    return try body()
}

/// The value of a step that answers 1 for success.
func check(_ result: Int32, _ step: StaticString) throws(CryptoError) {
    guard result == 1 else { throw .library(step: "\(step)") }
}

/// The pointer of a step that answers null for failure.
func require(_ pointer: OpaquePointer?, _ step: StaticString) throws(CryptoError) -> OpaquePointer {
    guard let pointer else { throw .library(step: "\(step)") }
    return pointer
}
