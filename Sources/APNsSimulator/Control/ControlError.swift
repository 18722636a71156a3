/// What is wrong with a call of the control API; becomes a 400, or `status`.
struct ControlError: Error, Equatable {
    let status: Int
    let detail: String
    /// The path of the member at fault, as `phones[3].token`.
    let field: String?

    init(_ detail: String, field: String? = nil, status: Int = 400) {
        self.detail = detail
        self.field = field
        self.status = status
    }
}
