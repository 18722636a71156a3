internal import APNs
internal import Core
internal import Crypto
internal import Store
internal import Synchronization

extension DispatchContext {
    /// How many matches are started side by side.
    private static let passesAtOnce = 4

    /// Takes up passes of starts as they come due, until cancelled or draining.
    func runStarts() async {
        await takeUpAbandoned()
        await withDiscardingTaskGroup { group in
            let slots = PagePermits(count: Self.passesAtOnce)
            var pause = Duration.zero
            while !Task.isCancelled {
                await bell.starts.wait(atMost: pause)
                if Task.isCancelled || isDraining { break }
                await slots.take(isUrgent: false)
                do throws(StoreError) {
                    let (pass, next) = try await store.claimStartPass(
                        owner: Hex.encode(SecureRandom.bytes(8)),
                        lease: .seconds(30),
                        by: storeDeadline
                    )
                    pause =
                        pass == nil
                        ? min(max(next ?? configuration.poll, .milliseconds(20)), configuration.poll) : .zero
                    guard let pass else {
                        slots.give()
                        continue
                    }
                    startsRunning.add(1, ordering: .relaxed)
                    group.addTask {
                        await self.run(pass)
                        slots.give()
                        self.startsRunning.subtract(1, ordering: .relaxed)
                        self.runnerEnded.signal()
                        self.bell.starts.signal()
                    }
                } catch {
                    report(error)
                    slots.give()
                    pause = .milliseconds(500)
                }
                // Every event rings the bell, and hardly one is of interest here.
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// What a process of this machine was sending when it died goes on at once, rather than when its claim runs out.
    private func takeUpAbandoned() async {
        guard let folder = configuration.startJournals else { return }
        let leases = StartJournal.abandoned(in: folder)
        guard !leases.isEmpty else { return }
        do throws(StoreError) {
            try await store.endClaims(leases, by: storeDeadline)
        } catch {
            // They run out within half a minute.
            report(error)
        }
    }

    private func run(_ pass: StartPass) async {
        do throws(StoreError) {
            try await StartRunner(context: self, pass: pass).run()
        } catch {
            // The claim runs out; the next holder finds out what was being sent.
            report(error)
        }
    }
}
