internal import EventLoop
internal import Glibc

/// The value of `date`, made once a second.
final class HTTPDateCache: Sendable {
    private let newest = ThreadLock((second: time_t.min, text: ""))

    var now: String {
        let second = time(nil)
        return newest.withLock { newest in
            if newest.second != second { newest = (second, Self.text(second)) }
            return newest.text
        }
    }

    /// IMF-fixdate (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ second: time_t) -> String {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return """
            \(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) \
            \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT
            """
    }
}
