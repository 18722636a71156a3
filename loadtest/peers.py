#!/usr/bin/env python3
"""The sender pool against peers that misbehave: what it costs them, what arrives, and how soon it is back.

    loadtest/peers.py                       every shape, a table, exit code 1 where a bound is missed
    loadtest/peers.py --list                the shapes, and the bounds of each
    loadtest/peers.py --shape goaway        one of them

The peer is written in Python on the package `h2` and shares no code with the pool (see oddpeer.py); the load is
`loadtest pool --target`. Needs a release build (`swift build -c release --product loadtest`), Python 3 with `h2` (Debian:
python3-h2), `openssl`, for `renegotiation` pyOpenSSL (Debian: python3-openssl), and for `black-hole` root, which gives the
pool a name with two addresses in a mount namespace of its own. A shape whose needs are not met is named, and fails.

Columns: connections opened, most within a second, and on average while the peer was bad; requests, and requests for each
push that the peer took; what became of the pushes (`exhausted`: no peer took them up before the deadline or within the budget of
resends); seconds from the peer's recovery to the first push that it took.
"""
import argparse
import asyncio
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

try:
    from h2.errors import ErrorCodes
except ImportError:
    # Debian's package is for Debian's Python, which need not be the first one in PATH.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    sys.exit("peers.py: needs the Python package h2: apt-get install python3-h2, or pip install h2")

from oddpeer import BlackHole, Fault, Peer

NAME = "apns.test"  # has two addresses in the mount namespace of `black-hole`


# MARK: what peers do wrong


class Mute(Fault):
    """Answers the first request of a connection, and of the others nothing but PINGs: for ever, on the first `count`."""

    def __init__(self, bad_for=0.0, count=1 << 30):
        super().__init__(bad_for)
        self.count = count

    def opened(self, session):
        session.is_mute = session.number <= self.count and (self.bad_for == 0 or session.peer.is_bad())

    def request(self, session, stream):
        if not session.is_mute or session.answered == 0:
            session.answer(stream)


class ShutWindow(Mute):
    """After the first answer of the first connection its streams have a window of 0, for good."""

    def request(self, session, stream):
        session.answer(stream)
        if session.is_mute and session.answered == 1:
            from h2.settings import SettingCodes

            session.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})


class DiesIdle(Fault):
    """Five seconds after a connection's first answer the link is dead: nothing is read, nothing is written, no FIN."""

    def request(self, session, stream):
        session.answer(stream)
        if session.number == 1 and session.answered == 1:
            asyncio.get_running_loop().call_later(5, lambda: setattr(session, "is_deaf", True))


class OneThenGoAway(Fault):
    def __init__(self, bad_for, code=ErrorCodes.NO_ERROR, words=b""):
        super().__init__(bad_for)
        self.code, self.words = code, words

    def request(self, session, stream):
        session.answer(stream)
        if session.peer.is_bad():
            session.go_away(stream, self.code, self.words)


class CalmAtOnce(Fault):
    """ENHANCE_YOUR_CALM instead of the first answer."""

    def request(self, session, stream):
        if session.peer.is_bad():
            return session.go_away(0, ErrorCodes.ENHANCE_YOUR_CALM)
        session.answer(stream)


class Status(Fault):
    """Answers with a status; with `after_one`, a connection's first request with 200."""

    def __init__(self, bad_for, status, reason=None, after_one=False):
        super().__init__(bad_for)
        self.status, self.reason, self.after_one = status, reason, after_one

    def request(self, session, stream):
        if not session.peer.is_bad() or (self.after_one and session.answered == 0):
            return session.answer(stream)
        session.answer(stream, self.status, self.reason)


class FiveStreams(Fault):
    """Announces 1,000 streams, allows 5, and takes 50 ms for each."""

    stream_limit = 5

    def request(self, session, stream):
        asyncio.get_running_loop().call_later(0.05, session.answer, stream)


class AgesFast(Fault):
    """GOAWAY after 20 answers, so that connections are opened all the time."""

    def request(self, session, stream):
        session.answer(stream)
        if session.answered == 20:
            session.go_away(stream)


class OneConnection(Fault):
    """Closes every connection beside one that is open."""

    def opened(self, session):
        if len(session.peer.sessions) > 1:
            session.peer.sessions.remove(session)
            session.is_gone = True
            session.close()


class Renegotiates(Fault):
    tls12_renegotiates = True


class Garbled(Fault):
    """Answers with header blocks that are none, after the first one of each connection."""

    def __init__(self, bad_for, *parts):
        super().__init__(bad_for)
        self.parts = parts

    def request(self, session, stream):
        if not session.peer.is_bad() or session.answered == 0:
            return session.answer(stream)
        session.raw_block(stream, *self.parts)


# MARK: bounds


class Result:
    """Of one shape: what the peer and the pool counted."""

    def __init__(self, peer, report, deadline):
        counts = peer.counts
        outcomes = report.get("outcomes", {})
        self.connections = len(counts.opened)
        self.peak = counts.peak_per_second()
        bad = [at for at in counts.opened if at < counts.opened[0] + peer.fault.bad_for]
        self.mean = len(bad) / peer.fault.bad_for if peer.fault.bad_for else None
        self.requests = counts.requests
        self.taken = len(counts.taken)
        self.per_push = counts.requests / self.taken if self.taken else float("inf")
        self.offered = report.get("pushes", 0)
        self.accepted = outcomes.get("accepted", 0)
        self.unknown = outcomes.get("unknown", 0)
        self.exhausted = outcomes.get("not processed", 0)
        self.later = sum(n for name, n in outcomes.items() if name.startswith("later"))
        self.other = self.offered - self.accepted - self.unknown - self.exhausted - self.later
        self.slowest = report.get("latency_us", {}).get("max", 0) / 1e6
        after = [at for at, _ in counts.taken if at >= peer.recovers_at()] if counts.opened else []
        self.recovery = min(after) - peer.recovers_at() if peer.fault.bad_for and after else None
        self.tokens = sorted(at for at, path in counts.taken if path.startswith("/3/"))
        self.refused_after = counts.refused_after
        self.said = report.get("said", [])
        self.outcomes = outcomes
        self.deadline = deadline

    def figures(self):
        names = "connections peak mean requests per_push taken offered accepted unknown exhausted later other slowest recovery"
        return {name: getattr(self, name) for name in names.split()} | {"said": self.said, "outcomes": self.outcomes}


def mean_at_most(count):
    return f"at most {count} connections a second while it is bad", lambda r: r.mean <= count


def per_push_at_most(count):
    return f"at most {count} requests for each push taken", lambda r: r.per_push <= count


def back_within(seconds):
    return f"back within {seconds} s of recovery", lambda r: r.recovery is not None and r.recovery <= seconds


def said(*words):
    text = " or ".join(words)
    return f"said: “{text}”", lambda r: any(word in sentence for word in words for sentence in r.said)


ALL_ACCEPTED = ("every push accepted", lambda r: r.accepted == r.offered)
ALMOST_ALL = ("all but a hundredth accepted", lambda r: r.accepted >= 0.99 * r.offered)
NONE_EXHAUSTED = ("none exhausted", lambda r: r.exhausted == 0)
STORM = [mean_at_most(5), per_push_at_most(3), back_within(10)]
NO_FALSE_ACCEPT = ("none accepted beyond what the peer took", lambda r: r.accepted <= r.taken)
AS_5XX = ("each is taken up later, as after a 5xx", lambda r: r.other == 0 and r.unknown == 0)


def loses_at_most_half_a_deadline(rate):
    """What was sent on the useless connection before it was in doubt, and two seconds' worth."""
    return (
        "what half a deadline and 2 s hold is lost at most, the rest accepted",
        lambda r: r.accepted >= r.offered - rate * (r.deadline / 2 + 2),
    )


class Shape:
    def __init__(self, name, about, fault, bounds, load, deadline=60, needs_hosts=False):
        self.name, self.about, self.fault, self.bounds, self.load = name, about, fault, bounds, load
        self.deadline, self.needs_hosts = deadline, needs_hosts


def rate(per_second, seconds, *more):
    return ["--rate", per_second, "--seconds", seconds, "--tick", max(10, 1000 // per_second), *more]


CHANNELS = ("--mix", "1:0")
STORM_LOAD = rate(50, 55)
SHUTDOWN, IDLE, TOKENS = (503, "Shutdown"), (400, "IdleTimeout"), (429, "TooManyProviderTokenUpdates")
LOSES = [loses_at_most_half_a_deadline(2), said("no answer", "no request within its deadline", "unanswered")]

SHAPES = [
    Shape("mute", "the first connection answers one request, then only PINGs", lambda: Mute(count=1), LOSES,
          rate(2, 40, *CHANNELS), 15),
    Shape("mute-tokens", "the same, pushes to tokens", lambda: Mute(count=1), LOSES, rate(2, 40), 15),
    Shape("mute-all", "each connection answers one request, then only PINGs", lambda: Mute(40),
          [mean_at_most(5), back_within(10)], rate(5, 55, *CHANNELS), 15),
    Shape("window", "the first connection's streams have a window of 0 after one answer", lambda: ShutWindow(count=1),
          LOSES, rate(2, 40, *CHANNELS), 15),
    Shape("dies-idle", "the first connection dies silently while idle; pushes come again after 20 s", DiesIdle,
          [("an outcome within 5 s", lambda r: r.slowest <= 5), ("another connection", lambda r: r.connections >= 2)],
          ["--pushes", 21, "--rate", 1, "--tick", 20000, *CHANNELS]),
    Shape("goaway", "each connection answers one request, then GOAWAY", lambda: OneThenGoAway(40), STORM, STORM_LOAD),
    Shape("calm", "each answers one request, then GOAWAY with ENHANCE_YOUR_CALM",
          lambda: OneThenGoAway(40, ErrorCodes.ENHANCE_YOUR_CALM, b"too_many_requests"), STORM, STORM_LOAD),
    Shape("calm-at-once", "GOAWAY with ENHANCE_YOUR_CALM instead of any answer", lambda: CalmAtOnce(40), STORM, STORM_LOAD),
    Shape("shutdown", "503 Shutdown", lambda: Status(40, *SHUTDOWN), STORM, STORM_LOAD),
    Shape("shutdown-after-one", "one 200, then 503 Shutdown", lambda: Status(40, *SHUTDOWN, True), STORM, STORM_LOAD),
    Shape("idle-timeout", "400 IdleTimeout", lambda: Status(40, *IDLE), STORM, STORM_LOAD),
    Shape("idle-timeout-after-one", "one 200, then 400 IdleTimeout", lambda: Status(40, *IDLE, True), STORM, STORM_LOAD),
    Shape("token-updates", "429 TooManyProviderTokenUpdates", lambda: Status(40, *TOKENS), STORM, STORM_LOAD),
    Shape("token-updates-after-one", "one 200, then 429 TooManyProviderTokenUpdates", lambda: Status(40, *TOKENS, True),
          STORM, STORM_LOAD),
    Shape("five-streams", "allows 5 streams, announces 1,000", FiveStreams,
          [ALL_ACCEPTED, per_push_at_most(3)], ["--pushes", 1000, "--batch", 1000]),
    Shape("black-hole", "the first of two addresses drops SYNs; connections are short-lived", AgesFast,
          [ALL_ACCEPTED, ("none slower than 2 s", lambda r: r.slowest <= 2)], rate(20, 20), needs_hosts=True),
    Shape("one-connection", "closes every connection beside one that is open", OneConnection,
          [ALMOST_ALL, NONE_EXHAUSTED, ("a token's push at least every 10 s",
                          lambda r: len(r.tokens) > 1 and max(b - a for a, b in zip(r.tokens, r.tokens[1:])) <= 10)],
          rate(20, 30, "--mix", "1:99"), 30),
    Shape("renegotiation", "TLS 1.2, and asks for a renegotiation after the first answer", lambda: Renegotiates(5),
          [("ended within 1 s of each", lambda r: r.refused_after and max(r.refused_after) <= 1), NONE_EXHAUSTED,
           back_within(10), said("renegotiat")], rate(20, 15)),
    *(
        Shape(f"status-{status}", f"answers {status}", lambda status=status: Status(5, status),
              [AS_5XX, NO_FALSE_ACCEPT, said(str(status)), back_within(10)], rate(20, 15))
        for status in (999, 204, 201, 302)
    ),
    Shape("undecodable", "a header block that cannot be decoded behind `:status 200`",
          lambda: Garbled(5, b"\x88" + b"\xff" * 8), [NO_FALSE_ACCEPT, said("HEADERS"), back_within(10)], rate(20, 15)),
    Shape("undecodable-continued", "the same in CONTINUATION", lambda: Garbled(5, b"\x88", b"\xff" * 8),
          [NO_FALSE_ACCEPT, said("CONTINUATION"), back_within(10)], rate(20, 15)),
    Shape("contradiction", "`:status 200` and `:status 500` in one block", lambda: Garbled(5, b"\x88\x8e"),
          [NO_FALSE_ACCEPT, back_within(10)], rate(20, 15)),
]


# MARK: running


def certificate(folder):
    """A CA of our own, and a server's certificate: the CA's file, and (certificate, key)."""
    run = lambda *words: subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=folder)
    for name in ("ca", "server"):
        run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    run("req", "-x509", "-key", "ca.key", "-subj", "/CN=peers.py", "-days", 30, "-out", "ca.pem")
    run("req", "-new", "-key", "server.key", "-subj", f"/CN={NAME}", "-out", "server.csr")
    (folder / "names").write_text(f"subjectAltName=DNS:localhost,DNS:{NAME}\n")
    run("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", 30,
        "-extfile", "names", "-out", "server.pem")
    return folder / "ca.pem", (str(folder / "server.pem"), str(folder / "server.key"))


def with_hosts(folder, words):
    """The command in a mount namespace where the name has two addresses, the black-holed one first."""
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {NAME}\n127.0.0.2 {NAME}\n")
    script = 'mount --bind "$0" /etc/hosts && exec "$@"'
    return ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", script, str(hosts), *words]


async def run_shape(shape, arguments, folder, ca, server):
    peer = Peer(shape.fault(), server, "127.0.0.2" if shape.needs_hosts else "127.0.0.1")
    port = await peer.start()
    hole = BlackHole("127.0.0.1", port) if shape.needs_hosts else None
    words = [
        str(pathlib.Path(arguments.bin) / "loadtest"), "pool", "--target", f"{NAME if hole else 'localhost'}:{port}",
        "--ca", str(ca), "--deadline", str(shape.deadline), "--json", str(folder / f"{shape.name}.json"), "--quiet",
        *map(str, shape.load),
    ]
    log = open(folder / f"{shape.name}.log", "wb")
    process = await asyncio.create_subprocess_exec(
        *(with_hosts(folder, words) if hole else words), stdout=log, stderr=log
    )
    try:
        await asyncio.wait_for(process.wait(), 300)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
    finally:
        peer.stop()
        if hole:
            hole.stop()
    try:
        report = json.loads((folder / f"{shape.name}.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None, (folder / f"{shape.name}.log").read_text(errors="replace").strip() or "it ended without a report"
    if not peer.counts.opened:
        return None, "; ".join(report.get("said") or ["no connection came"])
    return Result(peer, report, shape.deadline), None


HEAD = f"{'shape':<24}{'conns':>6}{'peak/s':>7}{'mean/s':>7}{'requests':>9}{'a push':>8}{'offered':>8}{'accepted':>9}" \
       f"{'unknown':>8}{'exhausted':>10}{'later':>6}{'other':>6}{'back, s':>8}{'slowest':>8}  verdict"


def row(name, r, verdict):
    number = lambda value, digits=1: "-" if value is None else f"{value:.{digits}f}"
    return (
        f"{name:<24}{r.connections:>6}{r.peak:>7}{number(r.mean):>7}{r.requests:>9,}{number(r.per_push, 2):>8}{r.offered:>8,}"
        f"{r.accepted:>9,}{r.unknown:>8,}{r.exhausted:>10,}{r.later:>6,}{r.other:>6,}{number(r.recovery):>8}"
        f"{number(r.slowest):>8}  {verdict}"
    )


async def run_all(arguments, folder):
    ca, server = certificate(folder)
    wanted = [shape for shape in SHAPES if not arguments.shape or shape.name in arguments.shape]
    turn = asyncio.Semaphore(arguments.jobs)
    figures, is_right = {}, True
    print(HEAD, flush=True)

    async def one(shape):
        async with turn:
            return shape, *await run_shape(shape, arguments, folder, ca, server)

    for done in asyncio.as_completed([one(shape) for shape in wanted]):
        shape, result, trouble = await done
        if result is None:
            is_right = False
            print(f"{shape.name:<24}not run: {trouble}", flush=True)
            continue
        missed = [text for text, check in shape.bounds if not check(result)]
        is_right = is_right and not missed
        figures[shape.name] = result.figures() | {"missed": missed}
        print(row(shape.name, result, "missed" if missed else "kept"), flush=True)
        for text in missed:
            print(f"{'':<24}missed: {text}", flush=True)
        if arguments.verbose:
            for sentence in result.said:
                print(f"{'':<24}said: {sentence}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=2) + "\n")
    return is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", choices=[shape.name for shape in SHAPES], metavar="NAME",
                        help="only this one; may be given several times")
    parser.add_argument("--list", action="store_true", help="lists the shapes and their bounds")
    parser.add_argument("--jobs", type=int, default=4, help="shapes at once (default 4)")
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--verbose", action="store_true", help="also what the pool said of its connections")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder, with logs and reports")
    arguments = parser.parse_args()
    if arguments.list:
        for shape in SHAPES:
            print(f"{shape.name:<24}{shape.about}")
            for text, _ in shape.bounds:
                print(f"{'':<24}  {text}")
        return
    if not (pathlib.Path(arguments.bin) / "loadtest").exists():
        sys.exit(f"peers.py: no loadtest in {arguments.bin}: swift build -c release --product loadtest")
    # It complains of each connection that the pool has closed first.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tl-peers-"))
    started = time.monotonic()
    try:
        is_right = asyncio.run(run_all(arguments, folder))
    finally:
        if arguments.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    print(f"{time.monotonic() - started:.0f} s; {'every bound kept' if is_right else 'a bound was missed'}")
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
