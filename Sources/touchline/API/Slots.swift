internal import Executables

/// Lets at most so many tasks through at once; the others wait in the order in which they came.
actor Slots {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        precondition(count > 0, "\(count) slots let nobody through")
        free = count
    }

    /// Runs `body` in a slot.
    func run<Value: Sendable>(_ body: @Sendable () async throws(Failure) -> Value) async throws(Failure) -> Value {
        await withCheckedContinuation { continuation in
            if free > 0 {
                free -= 1
                continuation.resume()
            } else {
                waiting.append(continuation)
            }
        }
        defer { giveBack() }
        return try await body()
    }

    private func giveBack() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
