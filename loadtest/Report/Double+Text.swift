extension Double {
    /// With a fixed number of places, a dot, and no separators.
    func text(_ places: Int) -> String {
        guard isFinite else { return "–" }
        let scale = (0..<places).reduce(1.0) { value, _ in value * 10 }
        let rounded = Int((self * scale).rounded())
        guard places > 0 else { return String(rounded) }
        let digits = String(abs(rounded))
        let padded = String(repeating: "0", count: Swift.max(0, places + 1 - digits.count)) + digits
        return (rounded < 0 ? "-" : "") + padded.dropLast(places) + "." + padded.suffix(places)
    }
}

extension Int {
    /// With a comma between thousands: `1,234,567`.
    var grouped: String {
        var text = ""
        for (index, digit) in String(magnitude).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (self < 0 ? "-" : "") + String(text.reversed())
    }
}
