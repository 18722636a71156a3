import Core

// The phones and APNs, and what each phone ought to have had.
extension PhonesWorld {
    /// APNs brings a push, whose sender may have lost its lease or its hold. A phone ignores what is older than its stamp,
    /// or comes after its end. The answer is the promise that this breaks.
    mutating func receive(
        _ push: SendPlan.Push,
        _ version: Int,
        alert pending: Int,
        isStray: Bool,
        _ setting: Setting
    ) -> Fault? {
        var phone = phones[push.phone]
        defer { phones[push.phone] = phone }
        var fault: Fault?
        func broken(_ invariant: Invariant, _ text: @autoclosure () -> String) {
            if fault == nil { fault = Fault(invariant: invariant, text: text()) }
        }
        let alert = push.carriesAlert ? pending : 0
        let isNew = alert > 0 && phone.heard & (1 << alert) == 0
        let mayRepeat = phone.riskVersions & (1 << version) != 0
        let mayRepeatAlert = phone.riskAlerts & (1 << alert) != 0
        if phone.hasHad(version, registration: push.registration) && !mayRepeat {
            broken(.versionOnce, "version \(version) twice to \(push.phone)")
        }
        phone.note(version, registration: push.registration)
        if push.registration == phone.row.registration { phone.asks = false }
        if phone.hasEnded || version < phone.shows {
            if version < phone.shows && !isStray && !mayRepeat {
                broken(.stampsRise, "\(version) came to \(push.phone) after \(phone.shows)")
            }
            if isNew && !mayRepeatAlert && phone.waived & (1 << alert) == 0 {
                broken(.alertNotOvertaken, "alert \(alert) came to \(push.phone) too late")
            }
            return fault
        }
        if alert > 0 && !isNew && !mayRepeatAlert { broken(.alertOnce, "alert \(alert) twice to \(push.phone)") }
        let lacking = pendingAlert(version, setting)
        if lacking > 0 && alert != lacking && (phone.heard | phone.waived | phone.riskAlerts) & (1 << lacking) == 0 {
            broken(.alertNotOvertaken, "\(version) came to \(push.phone) without alert \(lacking)")
        }
        phone.shows = version
        phone.hasEnded = setting.isEnd(version)
        if alert > 0 { phone.heard |= 1 << alert }
        return fault
    }

    /// A push may come twice from now on.
    mutating func risk(_ push: SendPlan.Push, _ state: PushState, _ version: Int, alert: Int) {
        guard !state.isEmpty else { return }
        phones[push.phone].riskVersions |= 1 << version
        if push.carriesAlert { phones[push.phone].riskAlerts |= 1 << alert }
    }

    func registrationSteps(_ index: Int, _ setting: Setting, _ visitor: inout Visitor<Self>) {
        let phone = phones[index]
        func steps(
            shard: Int,
            shows: Int,
            isNaming: Bool,
            cadence: Cadence,
            isNewToken: Bool
        ) {
            for isStale in setting.isBroken(.lock) && stamped > 0 ? [false, true] : [false] {
                var next = self
                next.phones[index].shows = shows
                next.register(
                    index,
                    in: shard,
                    isNaming: isNaming,
                    cadence: cadence,
                    isNewToken: isNewToken,
                    isStale: isStale,
                    setting
                )
                visitor.step(
                    "phone \(index) registers in shard \(shard) as \(cadence), \(isNaming ? "shows \(shows)" : "names nothing")"
                        + (isNewToken ? ", new token" : "") + (isStale ? " (before the stamp)" : ""),
                    byItself: false,
                    next
                )
            }
        }
        if phone.isRegistered {
            let cadence = phone.row.cadence
            let other: Cadence = cadence == .frequent ? .standard : .frequent
            for isNaming in phone.shows > 0 ? [false, true] : [false] {
                for (cadence, isNewToken) in [(cadence, false), (cadence, true), (other, false)] {
                    steps(
                        shard: phone.shard,
                        shows: phone.shows,
                        isNaming: isNaming,
                        cadence: cadence,
                        isNewToken: isNewToken
                    )
                }
            }
            return
        }
        // New, or again after a removal: it may have the newest version from elsewhere.
        var known = [phone.shows]
        for version in [stamped - 1, stamped]
        where version > phone.shows && !phone.hasEnded && !setting.isEnd(version) {
            known.append(version)
        }
        for shard in shards.indices where shards[shard].isMade {
            for shows in known {
                for isNaming in [false, true] where isNaming ? shows > 0 : shows == phone.shows {
                    for isNewToken in phone.row.registration > 0 ? [true, false] : [true] {
                        steps(
                            shard: shard,
                            shows: shows,
                            isNaming: isNaming,
                            cadence: phone.row.cadence,
                            isNewToken: isNewToken
                        )
                    }
                }
            }
        }
    }

    private mutating func register(
        _ index: Int,
        in shard: Int,
        isNaming: Bool,
        cadence: Cadence,
        isNewToken: Bool,
        isStale: Bool,
        _ setting: Setting
    ) {
        var phone = phones[index]
        let was = phone.isRegistered
        let shows = isNaming ? phone.shows : 0
        let plan = setting.rule.register(
            Rule.Registering(
                shown: isNaming ? Int64(phone.shows) : nil,
                cadence: cadence,
                isNewToken: isNewToken,
                former: was ? RegistrationPlan.Former(cadence: phone.row.cadence, entry: phone.row.entry) : nil,
                reached: shards[shard].shard.reached[cadence],
                match: match(setting, isStale: isStale)
            )
        )
        if let entry = plan.entry { phone.row.entry = entry }
        phone.row.cadence = cadence
        if !(setting.isBroken(.number) && !was) { phone.row.registration += 1 }
        if isNewToken { phone.tokenSince = phone.row.registration }
        phone.isRegistered = true
        phone.isAlive = true
        phone.hasFailed = false
        phone.shard = shard
        phone.asks = !isNaming
        // Naming a version, or coming without one for the first time, waives the alerts of before.
        let known = isNaming || was ? shows : stamped
        for alert in 1...setting.letters.count where setting.letters[alert - 1] == "a" {
            if alert <= known { phone.waived |= 1 << alert }
            if alert <= shows && !was { phone.heard |= 1 << alert }
        }
        if !was { phone.log = [] }
        if shows > 0 { phone.note(shows, registration: phone.row.registration) }
        phones[index] = phone
        registrations -= 1
    }
}

extension PhonesWorld.PhoneSlot {
    func hasHad(_ version: Int, registration: Int64) -> Bool {
        log.contains { $0.registration == registration && $0.versions & (1 << version) != 0 }
    }

    mutating func note(_ version: Int, registration: Int64) {
        if let index = log.firstIndex(where: { $0.registration == registration }) {
            log[index].versions |= 1 << version
        } else {
            log.append((registration, 1 << version))
        }
    }
}
