/// Makes types and content states, right and wrong ones; the same for the same seed.
struct ShapeGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }

    private mutating func oneOf<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// The first two of these are one text to Swift, and two to a reader of bytes.
    private static let names = [
        "caf\u{E9}", "home", "away", "clock", "a b", "", "🇪🇸", "a.b", "scorer", "phase", "kickoff", "snake_case", "0",
    ]
    private static let choices = ["first", "caf\u{E9}", "", "break", "Second half", "🏁"]

    /// An object with up to six fields.
    mutating func object(depth: Int = 0) -> Shape {
        var names = Self.names
        return .object(
            (0..<below(7)).map { _ in (name: names.remove(at: below(names.count)), shape: shape(depth: depth + 1)) }
        )
    }

    private mutating func shape(depth: Int) -> Shape {
        switch below(depth < 4 ? 18 : 12) {
        case 0: .string
        case 1, 2: .int
        case 3: .double
        case 4: .bool
        case 5, 6: .date
        case 7: .url
        case 8: .uuid
        case 9: .data
        case 10, 11: .choice((0...below(3)).map { Self.choices[$0] })
        case 12, 13: .list(shape(depth: depth + 1))
        case 14, 15: object(depth: depth)
        default: optional(shape(depth: depth + 1))
        }
    }

    /// No programmer writes `Int??`.
    private func optional(_ shape: Shape) -> Shape {
        if case .optional = shape { shape } else { .optional(shape) }
    }

    /// A content state of `shape`. In one of two, about one value in six is an unlucky one, which may be right or wrong.
    mutating func state(of shape: Shape) -> String {
        guard case .object(let fields) = shape else { preconditionFailure("a content state is an object") }
        return object(fields, unlucky: below(2) == 0 ? 0 : 6)
    }

    private mutating func value(of shape: Shape, unlucky share: Int) -> String {
        if share > 0, below(share) == 0 { return unlucky(shape) }
        switch shape {
        case .string: return Shape.quote(oneOf(Self.names))
        case .int: return oneOf(["0", "1", "-3", "106", "9007199254740993"])
        case .double: return oneOf(["0", "1.10", "-2.5e3", "1e-7", "42"])
        case .bool: return oneOf(["true", "false"])
        case .date: return oneOf(["806180400", "0", "-1.5", "8.05e8", "806180400.25"])
        case .url: return oneOf([#""https://a.b/c?d=e#f""#, #""x""#, #""mailto:a@b.c""#])
        case .uuid: return #""0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFF""#
        case .data: return oneOf([#""""#, #""Zm9v""#, #""Zg==""#, #""Zm8=""#])
        case .choice(let choices): return Shape.quote(oneOf(choices))
        case .optional(let wrapped): return below(3) == 0 ? "null" : value(of: wrapped, unlucky: share)
        case .list(let element):
            return "[\((0..<below(4)).map { _ in value(of: element, unlucky: share) }.joined(separator: ","))]"
        case .object(let fields): return object(fields, unlucky: share)
        }
    }

    private mutating func object(_ fields: [(name: String, shape: Shape)], unlucky share: Int) -> String {
        var members: [String] = []
        for field in fields {
            if case .optional = field.shape, below(3) == 0 { continue }
            if share > 0, below(12) == 0 { continue }  // missing
            let value = value(of: field.shape, unlucky: share)
            members.append("\(name(field.name, unlucky: share)):\(value)")
        }
        if share > 0, below(3) == 0 { members.append(#""unknown":\#(oneOf(Self.anything))"#) }
        // In any order.
        for place in members.indices.dropLast() { members.swapAt(place, place + below(members.count - place)) }
        return "{\(members.joined(separator: oneOf([",", " , ", ",\n"])))}"
    }

    /// At times in the other way of writing it: escaped, in another normal form, in another case.
    private mutating func name(_ name: String, unlucky share: Int) -> String {
        guard share > 0, below(8) == 0 else { return Shape.quote(name) }
        switch name {
        case "caf\u{E9}": return oneOf([#""cafe\u0301""#, #""caf\u00e9""#, "\"cafe\u{301}\"", #""cafe""#])
        case "home": return oneOf([#""h\u006fme""#, #""Home""#, #""home ""#])
        default: return Shape.quote(name)
        }
    }

    /// What is right for another type, or at an edge of its own.
    private mutating func unlucky(_ shape: Shape) -> String {
        switch shape {
        case .string: oneOf(Self.anything)
        case .int: below(4) == 0 ? oneOf(Self.anything) : oneOf(Self.integers)
        // Without what reads as UNIX time, which decodes and is refused all the same: that is another test's.
        case .date: below(4) == 0 ? oneOf(Self.anything) : oneOf(Self.dates)
        case .double: below(4) == 0 ? oneOf(Self.anything) : oneOf(Self.integers + Self.doubles)
        case .bool: oneOf(Self.anything + ["0", "1", #""true""#])
        case .url: below(4) == 0 ? oneOf(Self.anything) : Shape.quote(oneOf(Self.urls))
        case .uuid: below(4) == 0 ? oneOf(Self.anything) : Shape.quote(oneOf(Self.uuids))
        case .data: below(4) == 0 ? oneOf(Self.anything) : oneOf(Self.base64)
        case .choice: oneOf(Self.anything + Self.otherChoices)
        case .list, .optional, .object: oneOf(Self.anything)
        }
    }

    static let anything = [
        "null", "true", "false", "0", "1", "-1.5", #""""#, #""1""#, #""null""#, "[]", "[null]", "{}", #"{"a":1}"#,
        #""2026-07-19T19:00:00Z""#, "[[1]]", #""first""#,
    ]

    private static let otherChoices = [#""cafe\u0301""#, #""caf\u00e9""#, #""FIRST""#, #""third""#, #""""#]

    static let integers = [
        "-0", "1.0", "-0.0", "1e2", "1E+2", "100e-2", "1e-1", "1.5", "0e5", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9007199254740992.0",
        "9007199254740993.0", "9007199254740993.5", "9007199254740993e0", "18014398509481985.0",
        "9.223372036854775807e18",
        "922337203685477580.7e1", "1e18", "1e19", "-1e18", "1e300", "1.0000000000000000001", "0.99999999999999999999",
        "4503599627370496.5", "123456789012345678e1", "12345678901234567890123", "0.1e1", "9223372036854775807.0",
        "9223372036854775807.5", "-9223372036854775808.0", "1e-400", "0e400", "1234567890123456789.0",
        "10000000000000000000000000000000000000000e-40", "1.00000000000000000000000000000000000000000000001",
    ]

    static let doubles = [
        "1.7976931348623157e308", "4.9e-324", "1e-400", "-0.0", "0.1", "1199999999", "1199999999.999",
        "123456789012345678901234567890", "-978307200",
    ]

    static let dates = (integers + doubles).filter { Double($0).map { $0 < 1_200_000_000 } ?? true }

    static let urls = [
        "", " ", "a b", "http://a b/", "http://[::1", "http://[::1]:80/", "%", "%zz", "https://a.b/%20", "::::", "//",
        "#",
        "?", "http://host:99999", "http://host:x", "h ttp://a", "1http://a", "http://", "http:///", "https://a.b/ü",
        "a\tb",
        "a\nb", "\\", "{}", "|", "^", "https://a.b/c?d=e f", "https://user:p@ss@h/", "file:///a", "data:,x", "ü",
        "http://a..b",
        "https://a.b:443/", ":", "a:", "https://[v1.x]/", "<>", "\"", "https://a.b/#a#b",
    ]

    static let uuids = [
        "0f1f2f3f-4f5f-8f7f-8f9f-afbfcfdfefff", "0F1F2F3F4F5F8F7F8F9FAFBFCFDFEFFF",
        "{0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFF}",
        " 0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFF", "0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFF ", "",
        "0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFF", "0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFFF",
        "0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFG", "00000000-0000-0000-0000-000000000000",
        "0F1F2F3F4-F5F-8F7F-8F9F-AFBFCFDFEFFF", "0F1F2F3F-4F5F-8F7F-8F9F-AFBFCFDFEFFF-",
    ]

    static let base64 = [
        #""""#, #""Zg==""#, #""Zg=""#, #""Zg""#, #""Zm9v\n""#, #""Zm9v\r\nZm9v""#, #""Zm9v Zm9v""#, #""_-==""#,
        #""Zh==""#,
        #""====""#, #""=""#, #""Z===""#, #""Z""#, #""Zg==Zg==""#, #""Zm9=""#, #""Zm9v=""#, #""Zm9vZg""#, #""+/+/""#,
        #""Z\u006d9v""#, #""ü""#,
    ]
}
