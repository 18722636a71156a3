import Executables
import Glibc
import Testing

@Suite("A file that a command line names")
struct FileTests {
    @Test("may be a pipe")
    func pipe() throws {
        var ends: [Int32] = [0, 0]
        try #require(Glibc.pipe(&ends) == 0)
        let text = [UInt8](repeating: 0x61, count: 20_000)
        #expect(write(ends[1], text, text.count) == text.count)
        close(ends[1])
        defer { close(ends[0]) }
        #expect(try File.read("/dev/fd/\(ends[0])") == text)
    }

    @Test("that cannot be read is an error that says why")
    func errors() throws {
        for (path, reason) in [("/tmp", "it is a folder"), ("/nonexistent/file", "there is no such file")] {
            let error = #expect(throws: Failure.self) { try File.read(path) }
            #expect(error?.message == "cannot read \(path): \(reason)")
        }
    }
}
