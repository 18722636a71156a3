@testable import HTTP2

/// Our session with ``SentRequests`` under way.
final class OwnClient {
    private let peer: SessionPeer
    private(set) var view = SessionView(streams: SentRequests.bodyBytes.map { _ in SessionView.Stream() })
    /// Everything written since the requests, in order.
    private(set) var written: [SessionPeer.Frame] = []

    init() throws {
        peer = try SessionPeer(settings: nil)
        let head = HTTP2RequestTemplate(
            constant: [(":method", "HEAD"), (":scheme", "https"), (":authority", "localhost")],
            varying: [":path"]
        )
        for (method, body) in zip(SentRequests.methods, SentRequests.bodies) {
            _ = try peer.submit(method == "HEAD" ? head : SessionPeer.template, body: body)
        }
        look()
        written = []
    }

    /// Reads the server's bytes, and sends what then fits into the windows.
    func receive(_ bytes: ArraySlice<UInt8>) {
        read(bytes)
        var before = -1
        repeat {
            peer.sendBodies()
            before = written.count
            look()
        } while written.count > before
    }

    /// Reads the server's bytes, and nothing else.
    func read(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { peer.receive($0) } }

    /// Brings ``view`` and ``written`` up to date.
    func look() {
        for frame in peer.frames() { note(frame) }
        for action in peer.actions() { note(action) }
        for slot in view.streams.indices where view.streams[slot].end == .open { copyResponse(slot) }
        view.isOver = peer.isOver
        view.streamLimit = UInt32(clamping: peer.streamLimit)
    }

    private func note(_ frame: SessionPeer.Frame) {
        written.append(frame)
        switch frame.type {
        case 0: if let slot = SentRequests.slot(frame.stream) { view.streams[slot].sentBytes += frame.payload.count }
        case 3: if let slot = SentRequests.slot(frame.stream) { view.streams[slot].end = .refused }
        case 4, 6: view.answers += Int(frame.flags & 1)
        default: break
        }
    }

    private func note(_ action: PeerAction) {
        switch action {
        case .goAway: view.goAways += 1
        case .settings: break
        case .closedStream(let slot, let code):
            guard view.streams[slot].end == .open else { return }
            copyResponse(slot)
            view.streams[slot].end = .closed(code: code)
        }
    }

    private func copyResponse(_ slot: Int) {
        let response = peer.peek(slot)
        // A part of a status that was malformed is told with the reset only.
        view.streams[slot].status = response.status
        view.streams[slot].body = response.body
        guard response.fields.count != view.streams[slot].fields.count else { return }
        view.streams[slot].fields = response.fields.pairs.map { "\($0.name): \($0.value)" }
    }
}
