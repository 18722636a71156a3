internal import Core
internal import Executables

/// What an event's answer means where phones will see nothing of it.
enum EventRemark {
    static func text(_ answer: APIClient.Answer) -> String? {
        guard case .string(let status)? = (try? JSONScanner.decode(answer.body))?.member("status")?.content else {
            return nil
        }
        return switch status {
        case "accepted" where answer.isReplayed:
            "This event was there already, word for word: nothing is sent again. A new one needs an id of its own."
        case "superseded": "It happened before the newest event, so it is not sent: phones keep what they show."
        case "ignored": "The match has ended, and phones ignore what comes after that: nothing is sent."
        default: nil
        }
    }
}
