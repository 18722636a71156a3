/// Horizontal bars with a name and a value each, as HTML that needs no drawing.
struct Bars {
    struct Bar {
        let name: String
        let value: Double
        let text: String
        /// A class of the page's style: `one`, `two`, `good`, `bad`.
        let style: String
    }

    let bars: [Bar]
    /// The longest bar's value; nil: the greatest.
    var full: Double?

    var html: String {
        let most = full ?? bars.map(\.value).max() ?? 1
        let rows = bars.map { bar in
            // A bar that is there at all can be seen.
            let share = most > 0 ? max(bar.value > 0 ? 0.4 : 0, min(100, bar.value / most * 100)) : 0
            return """
                <div class="bar"><span class="name">\(bar.name.escaped)</span><span class="value">\(bar.text.escaped)</span>\
                <span class="track"><span class="fill \(bar.style)" style="width:\(share.text(2))%"></span></span></div>

                """
        }
        return #"<div class="bars">"# + "\n" + rows.joined() + "</div>\n"
    }
}
