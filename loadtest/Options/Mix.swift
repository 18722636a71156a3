internal import Executables

/// `--mix channel:token`: how many pushes of each kind, in turn.
struct Mix: Equatable, Sendable {
    let channels: Int
    let tokens: Int

    init(channels: Int, tokens: Int) {
        self.channels = channels
        self.tokens = tokens
    }

    init(_ text: String) throws(Failure) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let channels = parts[0], let tokens = parts[1], (0...1000).contains(channels),
            (0...1000).contains(tokens), channels + tokens > 0
        else {
            throw Failure(.wrongUse, "--mix is CHANNEL:TOKEN, two numbers up to 1000 such as 1:9, not “\(text)”")
        }
        self.channels = channels
        self.tokens = tokens
    }

    /// Of the pushes with these numbers, how many go to channels: the share holds over any number of batches, however small.
    func channelPushes(of numbers: Range<Int>) -> Int {
        func before(_ number: Int) -> Int { number * channels / (channels + tokens) }
        return before(numbers.upperBound) - before(numbers.lowerBound)
    }
}
