/// The titles of alerts, numbered in the order in which they came, so that a phone keeps a number for each alert.
struct AlertTitles {
    /// Those beyond share a number: a run with so many titles does not ask for them.
    static let most = 1_000_000
    private static let others: UInt32 = 0

    private var texts = ["(others)"]
    private var numbers: [String: UInt32] = [:]

    mutating func number(of text: String) -> UInt32 {
        if let number = numbers[text] { return number }
        guard texts.count < Self.most else { return Self.others }
        let number = UInt32(texts.count)
        texts.append(text)
        numbers[text] = number
        return number
    }

    func text(of number: UInt32) -> String { texts[Int(number)] }
}
