/// An answer that no APNs gives, and what people are told of it; the endpoint's name stands in front.
enum StrangeAnswer {
    case status(Int)
    /// It broke HTTP/2's rules, in words.
    case malformed(String)

    var sentence: String {
        switch self {
        case .status(let status):
            "answered with status \(status), which APNs never does: something else answers there, such as a proxy or a portal"
        case .malformed(let rule): "answered against HTTP/2's rules: \(rule)"
        }
    }

    /// What is said once in a while: each rule that is broken names another stream.
    var subject: String {
        switch self {
        case .status(let status): "status \(status)"
        case .malformed: "malformed answers"
        }
    }
}
