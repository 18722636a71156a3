import APNsSimulator
import Foundation
import HTTP2
import TestSupport
import Testing

@Suite("The control API", .timeLimit(.minutes(1)))
struct ControlAPITests {
    @Test("bad input is answered 400 with the field, an unknown path 404, another method 405")
    func refusals() async throws {
        let cases: [(String, String, String, Int, String)] = [
            ("POST", "/_sim/phones", "x", 400, "the body is no JSON"),
            ("POST", "/_sim/phones", "[]", 400, "must be an object"),
            ("POST", "/_sim/phones", #"{"phones":[]}"#, 400, #""field":"environment""#),
            ("POST", "/_sim/phones", #"{"environment":"sandbox"}"#, 400, #""field":"phones""#),
            ("POST", "/_sim/phones", #"{"environment":"x","phones":[]}"#, 400, #""field":"environment""#),
            ("POST", "/_sim/phones", #"{"environment":"sandbox","phones":[{}]}"#, 400, #""field":"phones[0]""#),
            ("POST", "/_sim/phones", #"{"environment":"sandbox","phones":[{"token":"xy"}]}"#, 400, "phones[0].token"),
            ("POST", "/_sim/phones", #"{"environment":"sandbox","phones":[{"channel":"no"}]}"#, 400, "no such channel"),
            (
                "POST", "/_sim/phones", #"{"environment":"sandbox","phones":[],"content_state":{"a":"whole"}}"#, 400,
                #""field":"content_state.a""#
            ),
            ("GET", "/_sim/phones?token=xyz", "", 400, #""field":"token""#),
            ("GET", "/_sim/requests?last=-1", "", 400, #""field":"last""#),
            ("PUT", "/_sim/faults", #"{"rules":[{"do":{}}]}"#, 400, #""field":"rules[0].do""#),
            ("POST", "/_sim/counts", "", 405, "takes GET"),
            ("GET", "/", "", 404, "no such path"),
        ]
        try await SimulatorBench.with { bench in
            for (method, path, body, status, text) in cases {
                let answer = try await bench.control(method, path, body)
                #expect(answer.status == status, "\(method) \(path) \(body)")
                #expect(answer.text.contains(text), "\(method) \(path) \(body): \(answer.text)")
            }
        }
    }

    @Test("phones with a contract and a budget: what does not decode, or is too often urgent, is dropped")
    func phones() async throws {
        try await SimulatorBench.with { bench in
            let added = try await bench.control(
                "POST",
                "/_sim/phones",
                #"{"environment":"production","phones":[{"token":"0A"},{"token":"0b"}],"content_state":{"home":"int"},"urgent_per_hour":1}"#
            )
            #expect(added.text == "{\"phones\":2}\n")
            let client = try await bench.connect()
            let bodies = [#"{"home":"one"}"#, #"{"home":2}"#, #"{"home":3}"#]
            for (index, state) in bodies.enumerated() {
                let body = SimulatorBench.payload(index + 1, state: state)
                let push = bench.device("0a", ["apns-priority": index == 0 ? "5" : "10"], body: body)
                #expect(try await client.answer(push).status == 200)
            }
            let phone = try await bench.control("GET", "/_sim/phones?token=0a")
            #expect(
                phone.text == #"{"phones":[{"token":"0a","environment":"production","count":1,"shows":{"home":2},"#
                    + #""stamp":2,"event":"update","stale_at":null,"ended":false,"alerts":0,"pushes":3,"#
                    + #""dropped":{"older":0,"after_end":0,"undecodable":1,"budget":1},"repeated":0,"alert_stamps":{},"alert_titles":{},"starts":[]}]}"#
                    + "\n"
            )
            let other = try await bench.control("GET", "/_sim/phones?token=0b")
            #expect(other.text.contains(#""shows":null,"stamp":null,"event":null"#))
            let sandbox = try await bench.connect(.sandbox)
            #expect(try await sandbox.answer(bench.device("0a")).text == #"{"reason":"BadDeviceToken"}"#)
        }
    }

    @Test("all phones can be read page by page: alerts by stamp, starts, stamps that fell or came twice, and the sums")
    func pages() async throws {
        try await SimulatorBench.with { bench in
            let tokens = (0..<250).map { #"{"token":"\#(TestTokens.token($0))"}"# }.joined(separator: ",")
            for environment in ["production", "sandbox"] {
                _ = try await bench.control(
                    "POST",
                    "/_sim/phones",
                    #"{"environment":"\#(environment)","phones":[\#(tokens)]}"#
                )
            }
            let client = try await bench.connect()
            let alert = #"{"home":2},"alert":{"title":"Goal"}"#
            for (stamp, state) in [(5, #"{"home":1}"#), (7, alert), (7, alert), (6, #"{"home":9}"#)] {
                let body = SimulatorBench.payload(stamp, state: state)
                _ = try await client.answer(bench.device(TestTokens.token(0), body: body))
            }
            let repeats = try await bench.control("GET", "/_sim/repeats").text
            let token = TestTokens.token(0)
            func expect(_ text: String) { #expect(repeats.contains(text), "\(repeats)") }
            expect(#"[{"token":"\#(token)","stamp":7,"kind":"same","brings_alert":false,"at":"#)
            expect(#"{"token":"\#(token)","stamp":6,"kind":"older","brings_alert":false,"at":"#)
            expect(#"{"token":"\#(token)","stamp":7,"kind":"alert","brings_alert":false,"at":"#)
            #expect(repeats.hasSuffix("\"count\":3,\"next\":null}\n"), "\(repeats)")
            let last = try await bench.control("GET", "/_sim/repeats?after=2&limit=1").text
            #expect(last.hasPrefix(#"{"repeats":[{"token":"\#(token)","stamp":6"#), "\(last)")
            let start = #"{},"attributes-type":"A","attributes":{"match":1},"alert":{"title":"Off"}"#
            for stamp in 1...2 {
                let body = SimulatorBench.payload(stamp, state: start, event: "start")
                _ = try await client.answer(bench.device(TestTokens.token(1), body: body))
            }
            let first = try await bench.control("GET", "/_sim/phones?limit=200")
            #expect(
                first.text.contains(
                    #""older":1,"after_end":0,"undecodable":0,"budget":0},"repeated":1,"alert_stamps":{"7":2},"alert_titles":{"Goal":2},"starts":[]"#
                )
            )
            #expect(first.text.contains(#""starts":[{"attributes":{"match":1},"count":2}]"#))
            #expect(first.text.hasSuffix("\"records\":500,\"cut\":true,\"next\":200}\n"))
            let rest = try await bench.control("GET", "/_sim/phones?after=200")
            #expect(rest.text.hasSuffix("\"records\":500,\"cut\":false,\"next\":null}\n"))
            let page = try await bench.control("GET", "/_sim/phones", accept: "text/html")
            #expect(page.text.contains("The first 200 of 500."))
            let requests = try await bench.control("GET", "/_sim/requests?last=2")
            #expect(requests.text.hasSuffix("\"count\":6,\"cut\":true}\n"))
            let all = try await bench.control("GET", "/_sim/requests")
            #expect(all.text.hasSuffix("\"count\":6,\"cut\":false}\n"))
            var (seen, next): (Int, Int?) = (0, 0)
            while let after = next, seen < 1000 {
                let page = try await bench.control("GET", "/_sim/phones?limit=200&after=\(after)").text
                seen += page.components(separatedBy: #"{"token":"#).count - 1
                next = page.components(separatedBy: #""next":"#).last.flatMap { Int($0.dropLast(2)) }
            }
            #expect(seen == 500)
            let sums = try await bench.control("GET", "/_sim/summary").text
            let expected =
                #""pushes":6,"alerts":4,"doubled_alerts":1,"starts":2,"doubled_starts":1,"repeated_stamps":1"#
            #expect(sums.contains(expected), "\(sums)")
        }
    }

    @Test("open connections, idle ones too, are closed, reset, silenced or told to go", arguments: [false, true])
    func connections(lean: Bool) async throws {
        try await SimulatorBench.with(configure: { $0.isLean = lean }) { bench in
            for action in ["close", "tcp_reset", "silence", "mute", "goaway"] {
                let client = try await bench.connect()
                var status = try await client.answer(bench.device("01")).status
                #expect(status == 200)
                let value = action == "goaway" ? #"{"debug":"x"}"# : "true"
                let done = try await bench.control("POST", "/_sim/connections", #"{"do":{"\#(action)":\#(value)}}"#)
                #expect(done.text == "{\"connections\":1}\n")
                await #expect(throws: HTTP2Error.self) {
                    try await client.send(bench.device("02"), by: .now + .milliseconds(300))
                }
                await client.close()
                status = try await bench.connect().answer(bench.device("03")).status
                #expect(status == 200)
                _ = try await bench.control("POST", "/_sim/connections", #"{"do":{"close":true}}"#)
            }
            let refused = try await bench.control("POST", "/_sim/connections", #"{"do":{"delay_ms":1}}"#)
            #expect(refused.status == 400)
        }
    }

    @Test("requests are shown with headers and body, without the provider token's signature")
    func requests() async throws {
        try await SimulatorBench.with { bench in
            let client = try await bench.connect()
            _ = try await client.answer(bench.device("0a", ["apns-collapse-id": "x"]))
            _ = try await client.answer(bench.device("zz"))
            let shown = try await bench.control("GET", "/_sim/requests?last=2")
            #expect(shown.text.contains(#""path":"/3/device/0a""#))
            #expect(shown.text.contains(#""apns-collapse-id":"x""#))
            #expect(shown.text.contains(#""status":400,"reason":"BadDeviceToken""#))
            let signature = try #require(bench.authorization.split(separator: ".").last)
            #expect(!shown.text.contains(signature))
            let counts = try await bench.control("GET", "/_sim/counts")
            #expect(counts.text.contains(#""answers":{"200":1,"400 BadDeviceToken":1},"connections":1,"#))
        }
    }

    @Test("a browser gets a page")
    func page() async throws {
        try await SimulatorBench.with { bench in
            let client = try await bench.connect()
            let body = SimulatorBench.payload(1, state: #"{"home":"<b>"}"#)
            _ = try await client.answer(bench.device("0a", body: body))
            let port = try #require(Int(bench.simulator.controlURL.split(separator: ":").last ?? ""))
            let browser = try await HTTP2Client.connect(
                host: "127.0.0.1",
                port: port,
                tls: nil,
                on: bench.loop,
                by: .patient
            )
            let page = try await browser.answer(
                HTTPRequest(method: "GET", authority: "", target: "/_sim/phones", fields: ["accept": "text/html"])
            )
            #expect(page.fields["content-type"] == "text/html; charset=utf-8")
            #expect(page.text.contains("&lt;b&gt;"))
            await browser.close()
        }
    }
}
