/// One value for each of the two cadences of phones.
package struct PerCadence<Value: Sendable>: Sendable {
    package var frequent: Value
    package var standard: Value

    package init(frequent: Value, standard: Value) {
        self.frequent = frequent
        self.standard = standard
    }

    package init(both value: Value) {
        self.init(frequent: value, standard: value)
    }

    /// - Parameter cadence: A phone's, never `any`, which only a channel has.
    package subscript(cadence: Cadence) -> Value {
        get {
            switch cadence {
            case .frequent: return frequent
            case .standard: return standard
            case .any: preconditionFailure("no phone has the cadence any")
            }
        }
        set {
            switch cadence {
            case .frequent: frequent = newValue
            case .standard: standard = newValue
            case .any: preconditionFailure("no phone has the cadence any")
            }
        }
    }
}

extension PerCadence: Equatable where Value: Equatable {}

extension Cadence {
    /// The cadences of phones.
    package static let ofPhones: [Cadence] = [.frequent, .standard]
}
