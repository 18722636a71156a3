import EventLoop

/// The loops of this module's tests: they live as long as the test process, so no actor outlives its loop.
enum TestLoops {
    static let near = make("test-near")
    static let far = make("test-far")
    /// One test holds it up.
    static let held = make("test-held")

    private static func make(_ name: String) -> EventLoop {
        do { return try EventLoop(name: name) } catch { preconditionFailure("\(error)") }
    }
}
