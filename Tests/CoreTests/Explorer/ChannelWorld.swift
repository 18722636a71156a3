import Core

/// One channel of a match, its lease, and a phone that listens to it.
struct ChannelWorld {
    struct Setting {
        /// As for phones: a, k, r, e, and x for a repeat.
        var story: [Character]
        var keepsNewest: Bool
        var failures = 1
        var unknown = 0
        var lost = 1
        var breaks: Set<Break> = []

        init(_ story: String, keepsNewest: Bool, failures: Int = 1, unknown: Int = 0, lost: Int = 1) {
            self.story = Array(story)
            self.keepsNewest = keepsNewest
            (self.failures, self.unknown, self.lost) = (failures, unknown, lost)
        }
    }

    enum Break { case epoch, alerted, failed, needed, repeatEnd, pacing }

    struct Send {
        var plan: ChannelPlan
        var isEnd: Bool
        /// waiting, came, accepted, failed, unknown
        var state: PhonesWorld.PushState
    }

    var accepted = 0
    var stamped = 0
    var channel = Channel()
    var sends: [Send] = []
    var shows = 0
    var hasEnded = false
    var heard = 0
    var mayRepeat = 0
    /// Versions that came as they should: an end as an end.
    var came = 0
    var failures = 0
    var unknown = 0
    var lost = 0
}

extension ChannelWorld: World {
    private static let limits = PacingLimits(gap: .seconds(60), urgentPerHour: 1000)

    static func first(_ setting: Setting) -> Self {
        Self(
            channel: Channel(keepsNewest: setting.keepsNewest),
            failures: setting.failures,
            unknown: setting.unknown,
            lost: setting.lost
        )
    }

    private func head(_ setting: Setting) -> StampedMatch {
        var head = StampedMatch()
        for letter in setting.story.prefix(accepted) {
            switch letter {
            case "a": head.accept(isKey: true, alertExpiresAt: Clock.alertEnd)
            case "k": head.accept(isKey: true)
            case "e": head.end()
            case "x": head.repeatOnChannels()
            default: head.accept(isKey: false)
            }
        }
        head.stampedVersion = Int64(stamped)
        return head
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var next = self
        change(&next)
        return next
    }

    func steps(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        if accepted < setting.story.count {
            visitor.step("event \(setting.story[accepted])", byItself: false, with { $0.accepted += 1 })
        }
        if stamped < accepted { visitor.step("stamp", byItself: true, with { $0.stamped = $0.accepted }) }
        if channel.pacing.routineAt != nil {
            visitor.step("the gap is over", byItself: true, with { $0.channel.pacing.routineAt = nil })
        }
        if channel.dueAt != nil {
            visitor.step("the channel becomes due", byItself: true, with { $0.channel.dueAt = nil })
        }
        claimStep(setting, &visitor)
        for index in sends.indices { sendSteps(index, setting, &visitor) }
    }

    private func claimStep(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        guard !channel.lease.isHeld(at: Clock.now) else { return }
        var head = head(setting)
        if setting.breaks.contains(.needed) { head.version = head.neededVersion }
        if setting.breaks.contains(.needed) { head.stampedVersion = min(head.stampedVersion, head.version) }
        var claimed = channel
        if setting.breaks.contains(.pacing) { claimed.pacing.routineAt = nil }
        guard claimed.nextSend(head, limits: Self.limits, now: Clock.now) == .now else {
            let key = head.keyVersion
            if stamped == accepted && key > max(channel.reached, channel.dueAt == nil ? 0 : channel.tried)
                && channel.attempts < RetryRule.attempts
            {
                visitor.broken(.keyServed, "key \(key) does not go to the channel")
            }
            return
        }
        claimed.lease = Lease(epoch: claimed.lease.epoch + 1, until: Clock.leaseEnd)
        let decision = ChannelPlan.decide(match: head, channel: claimed, limits: Self.limits, now: Clock.now)
        switch decision {
        case .stamp, .nothing: return
        case .send(var plan):
            if channel.pacing.routineAt != nil && !plan.isUrgent {
                visitor.broken(.gapKept, "routine \(plan.version) in the gap")
            }
            if setting.breaks.contains(.alerted) { plan.carriesAlert = plan.alert > 0 }
            let isEnd = head.isEnd && !(setting.breaks.contains(.repeatEnd) && head.version != head.endVersion)
            let next = with {
                $0.channel.lease = claimed.lease
                $0.sends.append(Send(plan: plan, isEnd: isEnd, state: .waiting))
            }
            visitor.step("send \(plan.version)", byItself: true, next)
        }
    }

    private func sendSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let send = sends[index]
        let isStray = send.plan.epoch != channel.lease.epoch
        func step(_ name: String, _ change: (inout Self) -> Void) {
            visitor.step("push \(send.plan.version) \(name)", byItself: true, with(change))
        }
        if send.state == .waiting {
            var arrived = self
            let fault = arrived.receive(send, setting)
            if let fault { visitor.broken(fault.invariant, fault.text) }
            arrived.sends[index].state = .came
            step("comes") { $0 = arrived }
            if failures > 0 {
                step("fails") {
                    $0.sends[index].state = .failed
                    $0.failures -= 1
                }
            }
            if isStray { step("dies") { $0.sends.remove(at: index) } }
        }
        if send.state.isOpen && unknown > 0 {
            step("is not heard of") {
                $0.sends[index].state = .unknown
                $0.mayRepeat |= 1 << Int(send.plan.version) | 1 << Int(send.plan.alert)
                $0.unknown -= 1
            }
        }
        if send.state == .came { step("is accepted") { $0.sends[index].state = .accepted } }
        if isStray && send.state != .waiting && !setting.breaks.contains(.epoch) {
            visitor.step("the sender that lost its lease ends", byItself: true, with { $0.sends.remove(at: index) })
        } else if !send.state.isOpen {
            commitStep(index, setting, &visitor)
        }
        if lost > 0 && !isStray && channel.lease.until != nil {
            let next = with {
                $0.channel.lease.until = nil
                $0.mayRepeat |= 1 << Int(send.plan.version) | 1 << Int(send.plan.alert)
                $0.lost -= 1
            }
            visitor.step("the lease runs out", byItself: false, next)
        }
    }

    private func commitStep(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let send = sends[index]
        var next = self
        next.sends.remove(at: index)
        var now = channel
        if setting.breaks.contains(.epoch) { now.lease.epoch = send.plan.epoch }
        let resolution = setting.breaks.contains(.failed) ? .accepted : send.state.resolution
        if var committed = send.plan.commit(resolution, channel: now, now: Clock.now) {
            // A gap of before the push may be over by now.
            if send.plan.isUrgent || resolution != .accepted { committed.pacing.routineAt = channel.pacing.routineAt }
            next.channel = committed
        }
        visitor.step("commit \(send.plan.version)", byItself: true, next)
    }

    private mutating func receive(_ send: Send, _ setting: Setting) -> Fault? {
        let version = Int(send.plan.version)
        let mayRepeat = mayRepeat & (1 << version) != 0
        if came & (1 << version) != 0 && !mayRepeat {
            return Fault(invariant: .versionOnce, text: "version \(version) twice to the channel")
        }
        let letters = setting.story.prefix(version)
        if letters.contains("e") == send.isEnd { came |= 1 << version }
        if version < shows || hasEnded {
            if version < shows && !mayRepeat {
                return Fault(invariant: .stampsRise, text: "\(version) came after \(shows)")
            }
            return nil
        }
        let alert = send.plan.carriesAlert ? Int(send.plan.alert) : 0
        if alert > 0 && heard & (1 << alert) != 0 && self.mayRepeat & (1 << alert) == 0 {
            return Fault(invariant: .alertOnce, text: "alert \(alert) twice to the channel")
        }
        let pending = (letters.lastIndex(of: "a") ?? -1) + 1
        if pending > 0 && alert != pending && heard & (1 << pending) == 0 && self.mayRepeat & (1 << pending) == 0 {
            return Fault(invariant: .alertNotOvertaken, text: "\(version) came without alert \(pending)")
        }
        shows = version
        heard |= 1 << alert
        hasEnded = send.isEnd
        return nil
    }

    func checkRest(_ setting: Setting, _ visitor: inout Visitor<Self>) {
        let letters = setting.story.prefix(accepted)
        let needed = setting.keepsNewest ? (letters.lastIndex { $0 != "x" } ?? -1) + 1 : accepted
        if needed > 0 && came >> needed == 0 {
            let isRepeat = letters[needed - 1] == "x"
            visitor.broken(isRepeat ? .repeatsReach : .newest, "version \(needed) never came to the channel")
        }
    }

    // MARK: Packing

    func pack(into packer: inout Packer, _ setting: Setting) {
        for number in [accepted, stamped, shows, failures, unknown, lost] { packer.write(number, bits: 3) }
        packer.write(hasEnded)
        packer.write(heard, bits: 6)
        packer.write(mayRepeat, bits: 6)
        packer.write(came, bits: 6)
        packer.write(Int(channel.reached), bits: 3)
        packer.write(Int(channel.alerted), bits: 3)
        packer.write(Int(channel.tried), bits: 3)
        packer.write(channel.attempts > 0)
        packer.write(channel.dueAt != nil)
        packer.write(channel.pacing.routineAt != nil)
        packer.write(channel.lease.until != nil)
        let lowest = sends.map(\.plan.epoch).min() ?? channel.lease.epoch
        packer.write(Int(channel.lease.epoch - min(lowest, channel.lease.epoch)), bits: 3)
        packer.write(sends.count, bits: 2)
        for send in sends {
            packer.write(Int(send.plan.epoch - min(lowest, channel.lease.epoch)), bits: 3)
            packer.write(Int(send.plan.version), bits: 3)
            packer.write(Int(send.plan.alert), bits: 3)
            packer.write(send.plan.carriesAlert)
            packer.write(send.plan.isUrgent)
            packer.write(send.isEnd)
            packer.write(send.state.rawValue, bits: 4)
        }
    }

    init(from reader: inout PackReader, _ setting: Setting) {
        accepted = reader.read(bits: 3)
        stamped = reader.read(bits: 3)
        shows = reader.read(bits: 3)
        failures = reader.read(bits: 3)
        unknown = reader.read(bits: 3)
        lost = reader.read(bits: 3)
        hasEnded = reader.readFlag()
        heard = reader.read(bits: 6)
        mayRepeat = reader.read(bits: 6)
        came = reader.read(bits: 6)
        channel.keepsNewest = setting.keepsNewest
        channel.reached = Int64(reader.read(bits: 3))
        channel.alerted = Int64(reader.read(bits: 3))
        channel.tried = Int64(reader.read(bits: 3))
        channel.attempts = reader.read(bits: 1)
        channel.dueAt = reader.readFlag() ? Clock.retryAt : nil
        channel.pacing.routineAt = reader.readFlag() ? Clock.now : nil
        channel.lease.until = reader.readFlag() ? Clock.leaseEnd : nil
        channel.lease.epoch = Int64(reader.read(bits: 3))
        for _ in 0..<reader.read(bits: 2) {
            let (epoch, version) = (Int64(reader.read(bits: 3)), Int64(reader.read(bits: 3)))
            let (alert, carriesAlert) = (Int64(reader.read(bits: 3)), reader.readFlag())
            let isUrgent = reader.readFlag()
            let plan = ChannelPlan(
                epoch: epoch,
                version: version,
                neededVersion: version,
                alert: alert,
                carriesAlert: carriesAlert,
                isUrgent: isUrgent,
                priority: isUrgent ? 10 : 5,
                isDowngraded: false,
                pacing: PacingRecord(routineAt: isUrgent ? nil : Clock.now)
            )
            let isEnd = reader.readFlag()
            sends.append(Send(plan: plan, isEnd: isEnd, state: .init(rawValue: reader.read(bits: 4)) ?? .gone))
        }
    }
}
