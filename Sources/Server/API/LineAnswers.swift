internal import Core
internal import Store

/// One line of many on its way to its answer line.
protocol AnsweredLine {
    /// The line's answer; `refusal` is what kept the whole batch from being looked at.
    func answer(_ refusal: Problem?) -> JSONOutput
}

extension LineReader {
    /// Reads to the end, and answers each line with one, in the order in which they came, after each batch.
    ///
    /// - Parameters:
    ///   - exchange: Where the answers go.
    ///   - parse: Keeps what is wrong with a line for its answer.
    ///   - failed: Told what refuses the lines that are left.
    ///   - store: Takes in a batch of at most ``batch`` lines.
    /// - Throws: What `store` throws before the first answer; a ``StoreError`` behind it comes too late for another status, and
    ///   refuses the lines that are left, while what was answered stays stored.
    mutating func answerAll<Line: AnsweredLine>(
        to exchange: any LineExchange,
        parse: (LineSplitter.Line) -> Line,
        failed: (StoreError) -> Void,
        store: (inout [Line]) async throws -> Void
    ) async throws {
        var hasAnswered = false
        var refusal: Problem?
        while true {
            let batch = try await next()
            guard !batch.isEmpty else { return }
            var lines = batch.map(parse)
            do {
                if refusal == nil { try await store(&lines) }
            } catch let error as StoreError where hasAnswered {
                failed(error)
                refusal = Problem(error)
            }
            var answers: [UInt8] = []
            for line in lines {
                line.answer(refusal).append(to: &answers)
                answers.append(UInt8(ascii: "\n"))
            }
            try await exchange.write(answers)
            hasAnswered = true
        }
    }
}
