import Glibc

/// Where values are on one side of a plot, and which of them are named there.
struct Axis {
    struct Tick {
        /// 0 at the beginning of the axis, 1 at its end.
        let place: Double
        let label: String
    }

    let ticks: [Tick]
    private let map: (Double) -> Double

    /// 0 to 1; what is outside is put on the edge.
    func place(_ value: Double) -> Double { min(1, max(0, map(value))) }

    /// From 0 to at least `most`, in steps that people count in.
    static func linear(to most: Double, steps: Int = 4, _ label: (Double) -> String) -> Axis {
        let top = most > 0 ? most : 1
        let raw = top / Double(steps)
        let magnitude = pow(10, floor(log10(raw)))
        let step = ([1, 2, 2.5, 5, 10].first { $0 * magnitude >= raw * 0.999 } ?? 10) * magnitude
        let end = step * ceil(top / step - 0.001)
        let count = Int((end / step).rounded())
        let ticks = (0...max(1, count)).map { number in
            Tick(place: Double(number) * step / end, label: label(Double(number) * step))
        }
        return Axis(ticks: ticks) { $0 / end }
    }

    /// The time axis: it ends where the run does, and its last step may be a part.
    static func time(to end: Double, steps: Int = 6) -> Axis {
        let whole = linear(to: end, steps: steps) { $0.shortest }
        let last = max(end, 0.001)
        let ticks = whole.ticks.compactMap { tick -> Tick? in
            guard let value = Double(tick.label), value <= last * 1.0001 else { return nil }
            return Tick(place: value / last, label: tick.label + " s")
        }
        return Axis(ticks: ticks) { $0 / last }
    }

    /// Powers of ten, from below `least` to above `most`; with 2 and 5 between them where there are few.
    static func logarithmic(from least: Double, to most: Double, _ label: (Double) -> String) -> Axis {
        let bottom = floor(log10(max(least, 1e-6)))
        let top = max(bottom + 1, ceil(log10(max(most, 1e-6)) - 0.001))
        let decades = Int(top - bottom)
        let marks: [Double] = decades <= 2 ? [1, 2, 5] : [1]
        var ticks: [Tick] = []
        for decade in 0...decades {
            for mark in marks where decade < decades || mark == 1 {
                let value = pow(10, bottom + Double(decade)) * mark
                ticks.append(Tick(place: (log10(value) - bottom) / (top - bottom), label: label(value)))
            }
        }
        return Axis(ticks: ticks) { (log10(max($0, 1e-9)) - bottom) / (top - bottom) }
    }

    /// Shares of all, of which the slowest have most room: 0, 90, 99 and 99.9 % are as far apart from each other.
    static func shares(nines: Int) -> Axis {
        let names = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"]
        var ticks = (0...nines).map { Tick(place: Double($0) / Double(nines), label: names[$0]) }
        ticks.insert(Tick(place: log10(2) / Double(nines), label: "50 %"), at: 1)
        return Axis(ticks: ticks) { -log10(max(1 - $0, 1e-9)) / Double(nines) }
    }
}

extension Double {
    /// Without a point where there is nothing behind it, and with as few places as it needs, two at most.
    var shortest: String {
        for places in 0...2 where (self - (Double(text(places)) ?? 0)).magnitude < 0.001 * magnitude + 1e-9 {
            return text(places)
        }
        return text(2)
    }

    /// For an axis: `250 k`, `1.5 M`.
    var scaled: String {
        if magnitude >= 1e6 { return (self / 1e6).shortest + " M" }
        if magnitude >= 1e4 { return (self / 1e3).shortest + " k" }
        return magnitude >= 1000 ? Int(self).grouped : shortest
    }
}
