/// Lines over two axes, as SVG.
struct Plot {
    struct Line {
        let name: String
        /// A class of the page's style: `one`, `two`.
        let style: String
        let points: [(x: Double, y: Double)]
        /// Whether the room below it is tinted.
        var isFilled = false
    }

    /// A point that is named on the plot.
    struct Mark {
        let x: Double
        let y: Double
        let text: String
    }

    /// What a screen reader says.
    let summary: String
    let x: Axis
    let y: Axis
    let lines: [Line]
    var marks: [Mark] = []

    /// How large it is drawn: a phone gets a plot of its own, with letters as large as on a desk.
    struct Size {
        let width: Double
        let height: Double
        /// The page's style shows one of them: `wide`, `narrow`.
        let style: String

        static let wide = Size(width: 860, height: 300, style: "wide")
        static let narrow = Size(width: 340, height: 230, style: "narrow")
    }

    /// Both sizes; the page shows the one that fits.
    var svg: String { svg(.wide) + svg(.narrow) }

    private static let left = 54.0
    private static let right = 14.0
    private static let top = 14.0
    private static let bottom = 26.0

    private func svg(_ size: Size) -> String {
        let width = size.width - Self.left - Self.right
        let height = size.height - Self.top - Self.bottom
        func px(_ place: Double) -> String { (Self.left + place * width).text(1) }
        func py(_ place: Double) -> String { (Self.top + (1 - place) * height).text(1) }
        var svg = """
            <svg class="plot \(size.style)" viewBox="0 0 \(Int(size.width)) \(Int(size.height))" role="img" \
            aria-label="\(summary.escaped)">

            """
        for tick in y.ticks {
            svg +=
                #"<line class="grid" x1="\#(px(0))" x2="\#(px(1))" y1="\#(py(tick.place))" y2="\#(py(tick.place))"/>"#
            svg +=
                #"<text class="tick end" x="\#((Self.left - 8).text(1))" y="\#(py(tick.place))" dy=".32em">\#(tick.label)</text>"#
            svg += "\n"
        }
        for tick in spaced(x.ticks, by: 58 / width) {
            let anchor = tick.place > 0.97 ? "end" : tick.place < 0.03 ? "start" : "middle"
            svg +=
                #"<text class="tick" text-anchor="\#(anchor)" x="\#(px(tick.place))" y="\#((size.height - 6).text(1))">\#(tick.label)</text>"#
            svg += "\n"
        }
        for line in lines {
            let points = line.points.map { "\(px(x.place($0.x))),\(py(y.place($0.y)))" }
            guard let first = line.points.first, let last = line.points.last else { continue }
            if line.isFilled {
                let ends = "\(px(x.place(last.x))),\(py(0)) \(px(x.place(first.x))),\(py(0))"
                svg +=
                    #"<polygon class="area \#(line.style)" points="\#(points.joined(separator: " ")) \#(ends)"/>"#
                    + "\n"
            }
            svg += #"<polyline class="line \#(line.style)" points="\#(points.joined(separator: " "))"/>"# + "\n"
        }
        svg += marks(px, py)
        return svg + "</svg>\n"
    }

    /// Names that would stand over each other are left out; the first one stays.
    private func spaced(_ ticks: [Axis.Tick], by least: Double) -> [Axis.Tick] {
        var kept: [Axis.Tick] = []
        for tick in ticks where kept.last.map({ tick.place - $0.place >= least }) ?? true { kept.append(tick) }
        return kept
    }

    private func marks(_ px: (Double) -> String, _ py: (Double) -> String) -> String {
        var above: (place: Double, height: Double)?
        return marks.map { mark in
            let (place, height) = (x.place(mark.x), y.place(mark.y))
            var dot = #"<circle class="dot" cx="\#(px(place))" cy="\#(py(height))" r="3.5"/>"#
            // To the left of the curve, which rises to the right; at the left edge above it; where the last one's name stands
            // already, below it.
            let isTaken = above.map { place - $0.place < 0.3 && abs(height - $0.height) < 0.1 } ?? false
            let (anchor, dx, dy) =
                isTaken ? ("start", 8, 16) : place < 0.25 ? ("start", -8, -11) : ("end", -4, -11)
            if !isTaken { above = (place, height) }
            dot +=
                #"<text class="mark" text-anchor="\#(anchor)" x="\#(px(place))" y="\#(py(height))" dx="\#(dx)" dy="\#(dy)">"#
            return dot + "\(mark.text)</text>\n"
        }.joined()
    }
}

extension String {
    /// For HTML's text and attributes.
    var escaped: String {
        var text = ""
        for character in self {
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            default: text.append(character)
            }
        }
        return text
    }
}
