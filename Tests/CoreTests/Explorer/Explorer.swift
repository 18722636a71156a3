import Core

/// What the explorer walks through: everything that is, as a value.
protocol World {
    /// What a world's steps and checks are told beside the state: the story, budgets, and the rule that is explored.
    associatedtype Setting

    static func first(_ setting: Setting) -> Self

    /// Writes all that two worlds have to share to be one. Numbers that are only compared are renumbered.
    func pack(into packer: inout Packer, _ setting: Setting)
    init(from reader: inout PackReader, _ setting: Setting)

    /// Calls `visitor` for each thing that may happen next.
    func steps(_ setting: Setting, _ visitor: inout Visitor<Self>)

    /// Checks a world in which nothing more happens by itself.
    func checkRest(_ setting: Setting, _ visitor: inout Visitor<Self>)
}

/// A promise that was broken.
struct Fault: Equatable {
    var invariant: Invariant
    var text: String
}

/// Collects what may follow a world.
struct Visitor<Explored: World> {
    /// Steps are named only where somebody reads the names.
    var isNaming = false
    var next: [Explored] = []
    var names: [String] = []
    /// Something happens by itself, such as an answer of APNs or the next claim: the world is not at rest.
    var isMoving = false
    var fault: Fault?
    /// The step that broke the promise.
    var culprit: String?

    mutating func step(_ name: @autoclosure () -> String, byItself: Bool, _ world: Explored) {
        next.append(world)
        if isNaming {
            names.append(name())
            if fault != nil && culprit == nil { culprit = names.last }
        }
        if byItself { isMoving = true }
    }

    mutating func broken(_ invariant: Invariant, _ text: @autoclosure () -> String) {
        if fault == nil { fault = Fault(invariant: invariant, text: text()) }
    }
}

/// What an exploration found.
struct Report {
    var states = 0
    var rests = 0
    /// The most steps that the shortest way to a state has.
    var depth = 0
    var seconds = 0.0
    var isFinished = true
    var fault: Fault?
    /// The shortest way to the fault.
    var way: [String] = []

    var summary: String {
        "\(states) states, \(rests) at rest, depth \(depth), \(Int(seconds * 1000)) ms"
    }
}

/// Walks through every world that can be reached, breadth first, and stops at the first promise that is broken.
struct Explorer<Explored: World> {
    let setting: Explored.Setting
    /// So many worlds at most.
    let limit: Int

    func explore() -> Report {
        let clock = ContinuousClock()
        let begin = clock.now
        var report = Report()
        let seen = PackedSet()
        var parents: [Int32] = []
        var packer = Packer()
        var level = 0

        func add(_ world: Explored, parent: Int) {
            packer.begin()
            world.pack(into: &packer, setting)
            if seen.insert(packer.words) { parents.append(Int32(truncatingIfNeeded: parent)) }
        }

        add(Explored.first(setting), parent: -1)
        var index = 0
        var levelEnd = 1
        while index < seen.count {
            if index == levelEnd {
                level += 1
                levelEnd = seen.count
            }
            let world = unpack(seen, at: index)
            var visitor = Visitor<Explored>()
            world.steps(setting, &visitor)
            if visitor.fault == nil && !visitor.isMoving {
                report.rests += 1
                world.checkRest(setting, &visitor)
            }
            if let fault = visitor.fault {
                report.fault = fault
                report.way = way(to: index, seen: seen, parents: parents)
                break
            }
            for next in visitor.next { add(next, parent: index) }
            index += 1
            if seen.count > limit {
                report.isFinished = false
                break
            }
        }
        report.states = seen.count
        report.depth = level
        let duration = (clock.now - begin).components
        report.seconds = Double(duration.seconds) + Double(duration.attoseconds) / 1e18
        return report
    }

    private func unpack(_ seen: PackedSet, at index: Int) -> Explored {
        var reader = PackReader(seen.words(at: index))
        return Explored(from: &reader, setting)
    }

    /// Finds the names of the steps by taking them once more.
    private func way(to index: Int, seen: PackedSet, parents: [Int32]) -> [String] {
        var path = [index]
        while let last = path.last, parents[last] >= 0 { path.append(Int(parents[last])) }
        path.reverse()
        var names: [String] = []
        var packer = Packer()
        for (from, to) in zip(path, path.dropFirst()) {
            var visitor = Visitor<Explored>(isNaming: true)
            unpack(seen, at: from).steps(setting, &visitor)
            let wanted = seen.words(at: to)
            let match = visitor.next.firstIndex { world in
                packer.begin()
                world.pack(into: &packer, setting)
                return packer.words == wanted
            }
            names.append(match.map { visitor.names[$0] } ?? "?")
        }
        var visitor = Visitor<Explored>(isNaming: true)
        unpack(seen, at: index).steps(setting, &visitor)
        names.append(visitor.culprit ?? "at rest")
        return names
    }
}
