/// One step from an object or a list to a value inside it.
enum JSONPathStep: Equatable, Sendable {
    case name(String)
    case index(Int)
}

extension [JSONPathStep] {
    /// `content_state.cards[0].player`
    var text: String {
        reduce(into: "") { text, step in
            switch step {
            case .name(let name): text += text.isEmpty ? name : "." + name
            case .index(let index): text += "[\(index)]"
            }
        }
    }
}
