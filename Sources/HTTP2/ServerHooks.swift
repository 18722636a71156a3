/// What a server's end of an HTTP/2 connection tells its owner: one object a connection, called synchronously on the
/// loop, in the order of the wire.
///
/// Each call may answer, reset, send GOAWAY or close at once; what is to be written leaves when the bytes that were read
/// are used up.
package protocol HTTP2ServerHooks: AnyObject {
    /// A request is complete.
    func requestReceived(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    )

    /// A head has come: is its body to be streamed, and up to how many bytes? Asked if the connection offers streaming.
    ///
    /// With a limit the body comes by ``bodyArrived(on:of:)``, and the request is not reported as received.
    func streamLimit(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) -> Int?

    /// A streamed body has grown or ended: ``HTTP2ServerConnection/takeBody(stream:)`` has it.
    func bodyArrived(on stream: Int32, of connection: isolated HTTP2ServerConnection)

    /// A streamed answer has room again, after it had none.
    func answerHasRoom(on stream: Int32, of connection: isolated HTTP2ServerConnection)

    /// A request is too large: 413 or 431, or was not complete in time: 408. To be answered; the rest of it is dropped.
    ///
    /// - Parameters:
    ///   - status: The answer's.
    ///   - excess: Of a body that is too large: by how much.
    ///   - stream: To be answered.
    ///   - connection: The stream's.
    func requestRefused(
        status: Int,
        excess: HTTP2BodyExcess?,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    )

    /// A stream ended before it was answered whole: reset by the peer, or by a GOAWAY of ours.
    func streamClosed(_ stream: Int32, code: UInt32, of connection: isolated HTTP2ServerConnection)

    /// The peer opened a stream above our limit. `acknowledged`: it had confirmed that limit, and the connection ends;
    /// else the stream alone was refused.
    func streamRefused(_ stream: Int32, acknowledged: Bool, of connection: isolated HTTP2ServerConnection)

    /// Once, after which nothing is called.
    func connectionClosed(_ reason: HTTP2ServerCloseReason, of connection: isolated HTTP2ServerConnection)
}

extension HTTP2ServerHooks {
    package func streamLimit(
        _ request: HTTP2ServerRequest,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) -> Int? { nil }

    package func bodyArrived(on stream: Int32, of connection: isolated HTTP2ServerConnection) {}

    package func answerHasRoom(on stream: Int32, of connection: isolated HTTP2ServerConnection) {}

    package func requestRefused(
        status: Int,
        excess: HTTP2BodyExcess?,
        on stream: Int32,
        of connection: isolated HTTP2ServerConnection
    ) {
        var head = HTTP2HeaderBlock()
        head.append(":status", String(status).utf8)
        connection.respond(stream: stream, head: head)
    }

    package func streamClosed(_ stream: Int32, code: UInt32, of connection: isolated HTTP2ServerConnection) {}

    package func streamRefused(
        _ stream: Int32,
        acknowledged: Bool,
        of connection: isolated HTTP2ServerConnection
    ) {}

    package func connectionClosed(
        _ reason: HTTP2ServerCloseReason,
        of connection: isolated HTTP2ServerConnection
    ) {}
}

/// Why a server's end of a connection came to its end.
package enum HTTP2ServerCloseReason: Sendable {
    /// The peer or the network ended it.
    case transport(TransportCloseReason)
    /// `close()` was called.
    case closedHere
    /// GOAWAY was sent or received and the last stream has ended, or the peer broke the protocol and was told.
    case done
    /// Not HTTP/2, or what nghttp2 takes for a flood.
    case protocolBroken
    /// More resets or control frames than ``ServerFloodLimits`` allow.
    case flood
    case deadlinePassed
}

/// By how much a body is too large.
package struct HTTP2BodyExcess: Equatable, Sendable {
    /// As the request says; where it does not, as much as had come.
    package let size: Int
    package let limit: Int
}
