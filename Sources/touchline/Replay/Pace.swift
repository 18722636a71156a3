internal import Executables

/// How fast a match is played.
enum Pace: Equatable, Sendable {
    /// Each event as soon as the one before is answered.
    case max
    /// So many times as fast as it was.
    case times(Double)

    /// Reads `max` or a number above 0, `60` or `60x`.
    init(_ text: String) throws(Failure) {
        if text == "max" {
            self = .max
            return
        }
        let number = Double(text.hasSuffix("x") ? String(text.dropLast()) : text)
        guard let number, number > 0, number.isFinite else {
            throw Failure(.wrongUse, "--speed must be “max” or a number above 0, not “\(text)”")
        }
        self = .times(number)
    }

    /// When something is due that happened `minutes` after kick-off, counted from the start of the replay.
    func due(minutes: Int) -> Duration {
        switch self {
        case .max: .zero
        case .times(let factor): .seconds(Double(minutes) * 60 / factor)
        }
    }
}
