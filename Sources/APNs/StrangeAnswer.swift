/// What people are told of answers that no APNs gives; the endpoint's name stands in front.
enum StrangeAnswer {
    static func status(_ status: Int) -> String {
        "answered with status \(status), which APNs never does: something else answers there, such as a proxy or a portal"
    }

    static func malformed(_ rule: String) -> String { "answered against HTTP/2's rules: \(rule)" }
}
