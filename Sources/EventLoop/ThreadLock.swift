internal import Glibc

/// A value behind a `pthread_mutex_t`: for small tables that threads share. No I/O, callback or `await` inside.
///
/// Used in place of `Mutex`, whose lock ThreadSanitizer does not see on Linux, so that it reports every value behind one
/// as a race, and a real race would drown among them.
package final class ThreadLock<Value>: @unchecked Sendable {
    // Sendable unchecked: `value` is touched with the mutex held, and no reference to it leaves `withLock`.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let code = pthread_mutex_init(mutex, nil)
        precondition(code == 0, "pthread_mutex_init: \(code)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deinitialize(count: 1)
        mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
