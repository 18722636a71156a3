import Foundation
import Synchronization

/// UNIX seconds: the first answer is off by a chosen amount, the others are right.
final class SteppingClock: Sendable {
    private let first: Int64
    private let isFirst = Mutex(true)

    init(first: Int64) { self.first = first }

    func next() -> Int64 {
        let offset = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst ? first : 0
        }
        return Int64(Date().timeIntervalSince1970) + offset
    }
}
