import Core
import Executables
import Testing

@testable import loadtest

@Suite("A plan of faults")
struct ChaosPlanTests {
    private static let seeds = Array(0..<40)

    @Test("is the same for the same seed and length, and another for another seed")
    func replays() {
        for seed in Self.seeds {
            let plan = ChaosPlan(seed: seed, seconds: 600, services: 3)
            #expect(plan == ChaosPlan(seed: seed, seconds: 600, services: 3))
            #expect(plan.faults != ChaosPlan(seed: seed + 1, seconds: 600, services: 3).faults)
        }
        // A line that was printed once: a later version must not draw otherwise for the same seed.
        let first = ChaosPlan(seed: 1, seconds: 60, services: 3).faults.first
        #expect(first?.line == "00:03  all services: kill -9, for 2.9 s")
    }

    @Test("is over at the run's end, and begins when phones have registered", arguments: seeds)
    func fits(seed: Int) {
        let plan = ChaosPlan(seed: seed, seconds: 60, services: 3)
        #expect(plan.faults.count > 8)
        #expect(plan.faults.allSatisfy { $0.atMilliseconds >= 3_000 && $0.endMilliseconds <= 60_000 })
        #expect(plan.faults.map(\.atMilliseconds) == plan.faults.map(\.atMilliseconds).sorted())
    }

    @Test("has every kind of fault within ten minutes", arguments: seeds)
    func hasAll(seed: Int) {
        let kinds = Set(ChaosPlan(seed: seed, seconds: 600, services: 3).faults.map(\.kind))
        #expect(kinds == Set(ChaosFault.Kind.allCases))
    }

    @Test("leaves one service alone, and PostgreSQL time to come back", arguments: seeds, [2, 3, 8])
    func leavesOne(seed: Int, services: Int) {
        let faults = ChaosPlan(seed: seed, seconds: 600, services: services, paceMilliseconds: 500).faults
        let single = faults.filter { $0.kind.group == .service && $0.kind != .killAll }
        for fault in single {
            let away = single.filter {
                $0.atMilliseconds <= fault.atMilliseconds && $0.endMilliseconds > fault.atMilliseconds
            }
            #expect(Set(away.map(\.service)).count == away.count && away.count < services, "\(fault.line)")
        }
        let database = faults.filter { $0.kind.group == .database }
        for (fault, next) in zip(database, database.dropFirst()) {
            #expect(fault.endMilliseconds <= next.atMilliseconds)
        }
    }

    @Test("keeps to the groups that are asked for")
    func groups() throws {
        #expect(ChaosPlan(seed: 1, seconds: 600, services: 3, groups: []).faults.isEmpty)
        let plan = ChaosPlan(seed: 1, seconds: 600, services: 3, groups: [.database])
        #expect(Set(plan.faults.map(\.kind.group)) == [.database])
        #expect(try options("chaos --faults none").groups == [])
        #expect(try options("chaos --faults apns,service").groups == [.apns, .service])
        #expect(throws: Failure.self) { try options("chaos --faults weather") }
    }

    @Test("leaves out what a machine cannot do, and nothing else")
    func leavesOut() {
        let plan = ChaosPlan(seed: 1, seconds: 600, services: 3)
        let less = plan.without([.clockStep, .diskFull])
        #expect(less.faults == plan.faults.filter { $0.kind != .clockStep && $0.kind != .diskFull })
        #expect(less.faults.count < plan.faults.count)
    }

    @Test("says by how much a clock is off")
    func clock() {
        let fault = ChaosFault(kind: .clockStep, atMilliseconds: 65_000, milliseconds: 2_500, form: 9)
        #expect(fault.line == "01:05  PostgreSQL's clock: 3900 s behind, for 2.5 s")
    }

    @Test("says rules as the simulator reads them", arguments: ChaosFault.Kind.allCases, [0, 1, 2, 3, 8])
    func rules(kind: ChaosFault.Kind, form: Int) throws {
        let fault = ChaosFault(kind: kind, atMilliseconds: 0, milliseconds: 1, share: 20, form: form)
        #expect((kind.group == .apns) == (fault.rule != nil || fault.disturbance != nil))
        guard let rule = fault.rule else { return }
        let bytes = (["rules": [rule]] as JSONOutput).bytes
        #expect(throws: Never.self) {
            try FaultPlan(try Scenario.json(bytes, "a plan"), source: "a plan", path: "")
        }
    }

    private func options(_ line: String) throws -> ChaosOptions {
        let parser = CommandParser(program: .loadtest, commands: Command.all)
        guard
            case .run(let invocation) = try parser.parse(line.split(separator: " ").map(String.init), environment: [:])
        else { throw Failure(.failed, "help") }
        return try ChaosOptions(invocation)
    }

    @Test("is repeated by the line that the report prints")
    func command() throws {
        func line(_ typed: String) throws -> String {
            let options = try options(typed)
            return ChaosOutcome(options: options, plan: options.plan, faults: []).command
        }
        #expect(try line("chaos --seed 7") == "loadtest chaos --minutes 1 --seed 7")
        let typed = "chaos --seconds 90 --seed 7 --pace 500 --services 2 --faults apns"
        #expect(try options(try line(typed).replacing("loadtest ", with: "")).plan == options(typed).plan)
    }

    @Test("draws numbers within their range, evenly, and tokens of 64 digits")
    func dice() {
        var dice = Dice(seed: 3, stream: "test")
        let numbers = (0..<10_000).map { _ in dice.number(in: 5...14) }
        #expect((5...14).allSatisfy { number in numbers.count { $0 == number } > 800 })
        #expect(Set((0..<1_000).map { _ in dice.token() }.filter { $0.count == 64 }).count == 1_000)
        #expect(dice.shuffled(Array(0..<100)).sorted() == Array(0..<100))
    }
}
