import Testing

@testable import APNsSimulator

@Suite("A phone with a Live Activity")
struct PhoneTests {
    let now: Int64 = 1_790_000_000

    private func push(
        _ stamp: Int64,
        event: String = "update",
        state: String = #"{"home":1}"#,
        urgent: Bool = false,
        more: String = ""
    ) -> PhonePush {
        let body = #"{"aps":{"timestamp":\#(stamp),"event":"\#(event)","content-state":\#(state)\#(more)}}"#
        return PhonePush(payload: PushPayload(Array(body.utf8)), isUrgent: urgent)
    }

    @Test("shows the newest state; an older one is dropped, an equal stamp is not older")
    func order() {
        var phone = Phone(environment: .production, startedAt: now)
        phone.receive(push(10, state: #"{"home":1}"#, more: #","stale-date":99,"alert":{}"#), now: now)
        phone.receive(push(9, state: #"{"home":9}"#), now: now)
        #expect(phone.shows.map { String(decoding: $0.raw, as: UTF8.self) } == #"{"home":1}"#)
        #expect(phone.staleAt == 99)
        phone.receive(push(10, state: #"{"home":2}"#), now: now)
        #expect(phone.shows.map { String(decoding: $0.raw, as: UTF8.self) } == #"{"home":2}"#)
        #expect(phone.stamp == 10)
        #expect(phone.staleAt == nil)
        #expect(phone.alerts == 1)
        #expect(phone.pushes == 3)
        #expect(phone.dropped.older == 1)
    }

    @Test("nothing counts after the end, or after eight hours")
    func end() {
        var phone = Phone(environment: .production, startedAt: now)
        phone.receive(push(10, event: "end"), now: now)
        phone.receive(push(11), now: now)
        #expect(phone.hasEnded)
        #expect(phone.event == .end)
        #expect(phone.dropped.afterEnd == 1)
        var old = Phone(environment: .production, startedAt: now)
        old.receive(push(11), now: now + 8 * 3600 + 1)
        #expect(old.dropped.afterEnd == 1)
    }

    @Test("an end without a state leaves what is shown")
    func endWithoutState() {
        var phone = Phone(environment: .production, startedAt: now)
        phone.receive(push(10), now: now)
        let end = PushPayload(Array(#"{"aps":{"timestamp":11,"event":"end"}}"#.utf8))
        phone.receive(PhonePush(payload: end, isUrgent: true), now: now)
        #expect(phone.hasEnded)
        #expect(phone.shows != nil)
    }

    @Test("urgent pushes over the hour's budget are throttled, the hour slides")
    func budget() {
        var phone = Phone(environment: .production, startedAt: now)
        phone.urgentPerHour = 2
        for second in 0..<4 { phone.receive(push(Int64(second), urgent: true), now: now + Int64(second)) }
        phone.receive(push(4), now: now + 4)
        #expect(phone.dropped.budget == 2)
        #expect(phone.stamp == 4)
        phone.receive(push(5, urgent: true), now: now + 3599)
        #expect(phone.dropped.budget == 3)
        phone.receive(push(6, urgent: true), now: now + 3600)
        phone.receive(push(7, urgent: true), now: now + 3600)
        #expect(phone.dropped.budget == 4)
    }

    @Test(
        "bodies that mean nothing to a phone",
        arguments: [
            "", "{", "{}", #"{"aps":{}}"#, #"{"aps":{"event":"update","content-state":{}}}"#,
            #"{"aps":{"timestamp":1,"event":"change","content-state":{}}}"#,
            #"{"aps":{"timestamp":1,"event":"update"}}"#,
            #"{"aps":{"timestamp":1,"event":"update","content-state":[]}}"#,
            #"{"aps":{"timestamp":1,"event":"start","content-state":{}}}"#,
        ]
    )
    func undecodable(body: String) {
        #expect(PushPayload(Array(body.utf8)) == nil)
    }

    @Test("a state that the contract does not decode is dropped, what is shown stays")
    func contract() throws {
        let text = Array(#"{"home":"int"}"#.utf8)
        var phone = Phone(environment: .production, startedAt: now)
        phone.contract = try PhoneContract(JSONTextParser.parse(text), text: text)
        phone.receive(push(1, state: #"{"home":1}"#), now: now)
        phone.receive(push(2, state: #"{"home":"2"}"#), now: now)
        #expect(phone.dropped.undecodable == 1)
        #expect(phone.stamp == 1)
    }

    @Test("digits, order and escapes of the state stay as they came")
    func verbatim() {
        let state = #"{ "b":9007199254740993, "a":1.10,"c":12345678901234567890,"d":"🇦🇷","e":"\u00e9" }"#
        var phone = Phone(environment: .production, startedAt: now)
        phone.receive(push(1, state: state), now: now)
        #expect(phone.shows.map { String(decoding: $0.raw, as: UTF8.self) } == state)
    }
}
