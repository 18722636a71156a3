import APNsProtocol
import Core
import EventLoop
import Foundation
import Testing

@testable import Server

@Suite("A journal of starts")
struct StartJournalTests {
    private let lease = "00112233445566ff"

    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = try #require(TemporaryFolder.make(prefix: "\(NSTemporaryDirectory())/journal."))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func device(_ name: String) -> DeviceID { DeviceID(unchecked: name) }

    private func witness(_ journal: StartJournal, _ devices: String...) -> StartWitness {
        StartWitness(journal: journal, devices: devices.map { StartJournal.hash(device($0)) })
    }

    @Test("tells a successor what was handed out, and what became of it")
    func tells() throws {
        try inFolder { folder in
            let journal = try #require(StartJournal(lease: lease, in: folder))
            let witness = witness(journal, "a", "b", "c", "d", "e")
            for index in 0..<4 { witness.handedOut([index]) }
            witness.ended(0, .accepted(uniqueID: nil))
            witness.ended(1, .later(after: nil, reason: "ServiceUnavailable"))
            witness.ended(2, .unknown("connection lost"))
            // It is still written.
            #expect(StartJournal.findings(of: lease, in: folder) == nil)
            journal.leave()
            let found = try #require(StartJournal.findings(of: lease, in: folder))
            #expect(found[device("a")] == .accepted)
            #expect(found[device("b")] == .notTaken)
            #expect(found[device("c")] == .handedOut)
            #expect(found[device("d")] == .handedOut)
            #expect(found[device("e")] == nil)
            found.remove()
            #expect(StartJournal.findings(of: lease, in: folder) == nil)
        }
    }

    @Test("a push that is sent again after a refused stream may have arrived again")
    func again() throws {
        try inFolder { folder in
            let journal = try #require(StartJournal(lease: lease, in: folder))
            let witness = witness(journal, "a")
            witness.handedOut([0])
            witness.ended(0, .notProcessed)
            witness.handedOut([0])
            journal.leave()
            #expect(StartJournal.findings(of: lease, in: folder)?[device("a")] == .handedOut)
        }
    }

    @Test("begins anew with each page, and is gone at the end")
    func pages() throws {
        try inFolder { folder in
            let journal = try #require(StartJournal(lease: lease, in: folder))
            witness(journal, "a").handedOut([0])
            journal.clear()
            witness(journal, "b").handedOut([0])
            journal.leave()
            let found = try #require(StartJournal.findings(of: lease, in: folder))
            #expect(found[device("a")] == nil && found[device("b")] == .handedOut)
            found.remove()
            let next = try #require(StartJournal(lease: lease, in: folder))
            next.remove()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            // What comes late finds no file to write to.
            witness(next, "a").handedOut([0])
        }
    }

    @Test("of before a restart of the machine, or half a line, or by another name is not believed")
    func doubts() throws {
        try inFolder { folder in
            let path = "\(folder)/touchline-starts-\(lease)"
            let journal = try #require(StartJournal(lease: lease, in: folder))
            witness(journal, "a").handedOut([0])
            journal.leave()
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes.append(contentsOf: [1, 2, 3])
            try bytes.write(to: URL(filePath: path))
            // The process died while it wrote the last line: it was not handed out yet.
            #expect(StartJournal.findings(of: lease, in: folder)?[device("a")] == .handedOut)
            bytes[0] ^= 1
            try bytes.write(to: URL(filePath: path))
            #expect(StartJournal.findings(of: lease, in: folder) == nil)
            #expect(StartJournal(lease: "../etc/passwd", in: folder) == nil)
            #expect(StartJournal.findings(of: "", in: folder) == nil)
            #expect(StartJournal(lease: lease, in: "\(folder)/none") == nil)
            // Nobody writes another's journal on.
            #expect(StartJournal(lease: lease, in: folder) == nil)
        }
    }

    @Test("of a dead process is known by its name, and goes after a day")
    func abandoned() throws {
        try inFolder { folder in
            for (name, age) in [("aa", 90_000.0), ("bb", 10)] {
                try #require(StartJournal(lease: name, in: folder)).leave()
                try FileManager.default.setAttributes(
                    [.modificationDate: Date.now.addingTimeInterval(-age)],
                    ofItemAtPath: "\(folder)/touchline-starts-\(name)"
                )
            }
            let alive = try #require(StartJournal(lease: "cc", in: folder))
            #expect(StartJournal.abandoned(in: folder) == ["bb"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
            alive.leave()
            #expect(StartJournal.abandoned(in: folder).sorted() == ["bb", "cc"])
        }
    }
}
