"""An HTTP/2 server in Python that misbehaves in one way: a peer of the sender pool that shares no code with it.

It counts what it sees: connections, requests (HEADERS frames, also those that it ignores), and pushes that it took. What it
does wrong is a `Fault`; `peers.py` has the list. Needs the package `h2`; for renegotiation also `pyOpenSSL`.
"""
import asyncio
import socket
import ssl
import struct
import threading
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
HEADERS, CONTINUATION = 1, 9
END_STREAM, END_HEADERS = 1, 4


class Counts:
    """What a peer has seen; times are monotonic."""

    def __init__(self):
        self.opened = []  # when each connection was opened
        self.requests = 0
        self.taken = []  # (when, path) of each push that was answered with 200
        self.refused_after = []  # seconds from a renegotiation until the client had closed

    def peak_per_second(self):
        """Connections within the worst second."""
        return max((sum(1 for other in self.opened if 0 <= other - at < 1) for at in self.opened), default=0)


class FrameCounter:
    """Counts the requests of one connection by their HEADERS frames, whatever state the connection is in."""

    def __init__(self):
        self.skip = PREFACE
        self.head = b""

    def feed(self, data):
        """The number of HEADERS frames that begin in `data`."""
        found = 0
        while data:
            if self.skip:
                step = min(self.skip, len(data))
                self.skip -= step
                data = data[step:]
                continue
            need = 9 - len(self.head)
            self.head += data[:need]
            data = data[need:]
            if len(self.head) == 9:
                self.skip = int.from_bytes(self.head[:3], "big")
                found += self.head[3] == HEADERS
                self.head = b""
        return found


class Session:
    """HTTP/2 on one connection, apart from how its bytes travel."""

    def __init__(self, peer, send, close):
        self.peer, self.send, self.close = peer, send, close
        self.frames = FrameCounter()
        self.paths = {}  # of streams whose request has begun
        self.open = set()  # streams that wait for an answer
        self.answered = 0
        self.is_deaf = False  # reads nothing and answers nothing, not even a PING
        self.is_gone = False  # has sent GOAWAY: reads on, answers nothing
        peer.counts.opened.append(time.monotonic())
        self.number = len(peer.counts.opened)
        peer.sessions.append(self)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.h2.local_settings = h2.settings.Settings(
            client=False, initial_values={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1000}
        )
        self.h2.initiate_connection()
        self.flush()
        peer.fault.opened(self)

    def flush(self):
        if data := self.h2.data_to_send():
            self.send(data)

    def receive(self, data):
        self.peer.counts.requests += self.frames.feed(data)
        if self.is_deaf or self.is_gone:
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            return self.close()
        for event in events:
            if self.is_gone:
                break
            if isinstance(event, h2.events.RequestReceived):
                self.paths[event.stream_id] = dict(event.headers).get(":path", "")
                self.open.add(event.stream_id)
                if len(self.open) > self.peer.fault.stream_limit:
                    self.reset(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            elif isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded) and event.stream_id in self.open:
                self.peer.fault.request(self, event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self.open.discard(event.stream_id)
            elif isinstance(event, h2.events.ConnectionTerminated):
                return self.close()
        self.flush()

    # What a fault does.

    def answer(self, stream, status=200, reason=None):
        if stream not in self.open or self.is_gone:
            return
        self.open.discard(stream)
        try:
            self.h2.send_headers(stream, [(":status", str(status))], end_stream=reason is None)
            if reason is not None:
                self.h2.send_data(stream, b'{"reason":"%s"}' % reason.encode(), end_stream=True)
        except h2.exceptions.ProtocolError:
            return  # the client has reset it, or has gone
        self.answered += 1
        if status == 200:
            self.peer.counts.taken.append((time.monotonic(), self.paths.get(stream, "")))
        self.flush()

    def reset(self, stream, code):
        self.open.discard(stream)
        try:
            self.h2.reset_stream(stream, code)
        except h2.exceptions.ProtocolError:
            return
        self.flush()

    def go_away(self, last, code=h2.errors.ErrorCodes.NO_ERROR, words=b""):
        """Streams above `last` were not processed; the connection closes two seconds later."""
        self.h2.close_connection(error_code=code, additional_data=words, last_stream_id=last)
        self.flush()
        self.is_gone = True
        asyncio.get_running_loop().call_later(2, self.close)

    def raw_block(self, stream, *parts):
        """A header block as it stands, in one HEADERS frame and CONTINUATIONs; it ends the stream."""
        self.open.discard(stream)
        self.answered += 1
        self.flush()
        for number, part in enumerate(parts):
            flags = (END_STREAM if number == 0 else 0) | (END_HEADERS if number == len(parts) - 1 else 0)
            kind = HEADERS if number == 0 else CONTINUATION
            self.send(struct.pack(">I", len(part))[1:] + struct.pack(">BBI", kind, flags, stream) + part)


class Fault:
    """What a peer does wrong for `bad_for` seconds from its first connection on; this one does nothing wrong."""

    stream_limit = 1 << 30  # streams above it are refused, although the settings allow them
    tls12_renegotiates = False

    def __init__(self, bad_for=0.0):
        self.bad_for = bad_for

    def opened(self, session):
        pass

    def request(self, session, stream):
        session.answer(stream)


class Peer:
    """A listener on loopback."""

    def __init__(self, fault, certificate, host="127.0.0.1"):
        self.fault, self.certificate, self.host = fault, certificate, host
        self.counts = Counts()
        self.sessions = []
        self.server = None

    def is_bad(self):
        return not self.counts.opened or time.monotonic() < self.recovers_at()

    def recovers_at(self):
        return self.counts.opened[0] + self.fault.bad_for

    async def start(self):
        if self.fault.tls12_renegotiates:
            return self.start_renegotiating()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate)
        context.set_alpn_protocols(["h2"])
        self.server = await asyncio.get_running_loop().create_server(
            lambda: Plain(self), self.host, 0, ssl=context, backlog=100
        )
        return self.server.sockets[0].getsockname()[1]

    def stop(self):
        if self.server:
            self.server.close()

    def start_renegotiating(self):
        """TLS 1.2 by OpenSSL with blocking sockets: Python's own ssl cannot ask for a renegotiation."""
        from OpenSSL import SSL

        context = SSL.Context(SSL.TLS_METHOD)
        context.set_max_proto_version(SSL.TLS1_2_VERSION)
        context.use_certificate_chain_file(self.certificate[0])
        context.use_privatekey_file(self.certificate[1])
        context.set_alpn_select_callback(lambda connection, protocols: b"h2")
        listener = socket.create_server((self.host, 0))
        self.server = listener
        loop = asyncio.get_running_loop()

        def serve(plain):
            connection = SSL.Connection(context, plain)
            connection.set_accept_state()
            renegotiated = None
            try:
                connection.do_handshake()
                session = Session(self, connection.sendall, connection.close)
                while True:
                    session.receive(connection.recv(65536))
                    if session.answered and self.is_bad() and renegotiated is None:
                        renegotiated = time.monotonic()
                        connection.renegotiate()
                        connection.do_handshake()
            except (SSL.Error, OSError):
                pass
            finally:
                plain.close()
                if renegotiated is not None:
                    loop.call_soon_threadsafe(self.counts.refused_after.append, time.monotonic() - renegotiated)

        def accept():
            while True:
                try:
                    plain, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(plain,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener.getsockname()[1]


class Plain(asyncio.Protocol):
    """One connection of a peer over asyncio's TLS."""

    def __init__(self, peer):
        self.peer = peer
        self.session = None

    def connection_made(self, transport):
        self.transport = transport
        self.session = Session(self.peer, self.send, transport.close)

    def send(self, data):
        if not self.transport.is_closing():
            self.transport.write(data)

    def data_received(self, data):
        # A connection that is closed as soon as it is made may read before that has returned.
        if self.session:
            self.session.receive(data)

    def connection_lost(self, error):
        if self.session in self.peer.sessions:
            self.peer.sessions.remove(self.session)


class BlackHole:
    """An address whose SYNs are dropped: a listener whose backlog is full."""

    def __init__(self, host, port):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(0)
        self.fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((host, port))
            self.fillers.append(filler)

    def stop(self):
        for one in (*self.fillers, self.listener):
            one.close()
