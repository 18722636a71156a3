#!/usr/bin/env python3
"""Plants stalls, and writes down what somebody may see who has to find out why phones show nothing new.

    loadtest/stalls.py --seed 7 --out DIR   ten of the twenty stalls, a folder for each, and the causes in DIR/sealed.json
    loadtest/stalls.py --check              all twenty, and whether what may be seen names each cause; exits 1 where not
    loadtest/stalls.py --check --stall mute only this one; may be repeated
    loadtest/stalls.py --list               the twenty names

Each stall has a stage of its own: a PostgreSQL's database, a simulator of APNs, one or two services, and the match `final`
with phones on a channel and on tokens. Its first goal reaches them. Then something goes wrong, the second goal does not
arrive, and `--seconds` later a folder gets the output of `touchline match show`, `touchline match watch --once` and `touchline doctor`, and
the logs of the services. `complaint.txt` says when the feed posted the goal, as whoever asks for help would. The cause stands in
none of the names: hand the folders to a reader who has not seen this script, and compare what they find with sealed.json.

Needs a build, Python 3, PostgreSQL's programs, openssl and, for a full disk, root: without it that one is left out. Everything
runs on this machine.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cluster import Cluster
from stage import Stage, event, state
from sweep import wait_for

BUNDLE, MATCH = "com.acme.scores", "final"
STALLS = {}


class NotHere(Exception):
    """This machine lacks what the stall needs."""


class Stall:
    """One cause. `words` are regular expressions: what may be seen must match all of them, in one of its parts."""

    cause, words = "", []
    tokens = channel = True  # whether phones are on them
    has_channel = True  # or the match never gets one

    def __init_subclass__(cls):
        STALLS[cls.__name__] = cls

    def __init__(self, dice):
        self.dice = dice
        self.cluster = None  # of its own
        self.cas = []  # that the service trusts beside the simulator's

    def begin(self):
        """Before the stage is made."""

    def before_match(self, stage):
        """Before the match is made."""

    def go_wrong(self, stage):
        """What goes wrong before the second goal."""

    def goal(self):
        """The second goal's event."""
        return event(2, sequence=2, occurred_at=now())

    def end(self):
        """Frees what the stall took."""


def now(shift=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + shift))


def everywhere(action):
    return [{"on": {"route": route}, "do": action} for route in ("device", "broadcast")]


class key_refused(Stall):
    cause = "APNs refuses the app's key: 403 InvalidProviderToken (team id, key id and .p8 do not belong together, or it was revoked)"
    words = [r"InvalidProviderToken"]

    def go_wrong(self, stage):
        stage.faults(*everywhere({"status": 403, "reason": "InvalidProviderToken"}))


class broadcast_disabled(Stall):
    cause = "The broadcast capability of the App ID was switched off: 400 BroadcastFeatureNotEnabled"
    words = [r"BroadcastFeatureNotEnabled|Broadcast is not enabled"]
    tokens = False

    def go_wrong(self, stage):
        stage.faults({"on": {"route": "broadcast"}, "do": {"status": 400, "reason": "BroadcastFeatureNotEnabled"}})


class certificate_expired(Stall):
    cause = "The certificate that stands in APNs' place has expired (a clock that is wrong, or a proxy's)"
    words = [r"certificate.{0,40}expired|expired.{0,40}certificate"]

    def begin(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tl-ca-"))
        self.ca = make_ca(self.folder, "ca")
        self.cas = [self.ca[0]]
        self.server = None

    def go_wrong(self, stage):
        stage.relay.shut()
        self.server = expired_server(self.folder, self.ca, stage.relay.port)

    def end(self):
        if self.server:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.folder)


class foreign_ca(Stall):
    cause = "The service trusts another CA than the one that signed APNs' certificate (--apns-ca)"
    words = [r"certificate", r"\bCA\b|--apns-ca|\broots?\b|issuer|verif"]

    def go_wrong(self, stage):
        stage.ca_file = make_ca(stage.folder, "other")[0]
        stage.restart()


class mute(Stall):
    cause = "APNs' connections acknowledge PINGs and answer no request"
    words = [r"unanswered|no answer|did not answer|not answered|answers? (no|nothing)|deadline"]

    def go_wrong(self, stage):
        stage.faults({"on": {}, "do": {"delay_ms": 3_600_000}})


class refused(Stall):
    cause = "Nobody listens at APNs' address: connections are refused (a firewall, or a wrong address)"
    words = [r"connection refused|ECONNREFUSED|refused the connection|cannot (be )?reach|unreachable"]

    def go_wrong(self, stage):
        stage.relay.shut()


class internal_error(Stall):
    cause = "APNs answers every push with 500 InternalServerError"
    words = [r"InternalServerError"]

    def go_wrong(self, stage):
        stage.faults(*everywhere({"status": 500, "reason": "InternalServerError"}))


class service_clock(Stall):
    cause = "The clock of the service's machine is two hours behind: APNs calls its provider tokens expired"
    words = [r"clock", r"ExpiredProviderToken|behind"]

    def go_wrong(self, stage):
        # As it looks from here: APNs' time is two hours later.
        stage.faults({"on": {}, "do": {"date_offset": 7200}}, *everywhere({"status": 403, "reason": "ExpiredProviderToken"}))


class paused(Stall):
    @property
    def cause(self):
        return f"The {self.what} is paused"

    @property
    def words(self):
        of_match = r"|paused +yes|, paused" if self.what == "match" else ""
        return [rf"{self.what}[^\n]{{0,40}}paused|paused[^\n]{{0,40}}{self.what}{of_match}"]

    def __init__(self, dice):
        super().__init__(dice)
        self.what = dice.choice(["tenant", "app", "match"])

    def go_wrong(self, stage):
        if self.what == "tenant":
            stage.operator.good("PATCH", f"/v1/tenants/{stage.tenant}", {"paused": True})
        elif self.what == "app":
            stage.api.good("PATCH", f"/v1/apps/{BUNDLE}/production", {"paused": True})
        else:
            stage.api.good("PATCH", f"/v1/matches/{MATCH}", {"paused": True})


class disk_full(Stall):
    cause = "The disk of PostgreSQL's data is full"
    words = [r"no space left|disk[^\n]{0,20}full"]

    def begin(self):
        if os.geteuid() != 0:
            raise NotHere("a small file system can be mounted by root only")
        self.disk = Disk(megabytes=160)
        # The log of writes is elsewhere: what fails is the statement, not the server.
        self.wal = pathlib.Path(tempfile.mkdtemp(prefix="tl-wal-"))
        self.cluster = Cluster(parent=self.disk.folder, wal=self.wal)

    def go_wrong(self, stage):
        self.disk.fill()
        # What is free within the tables' pages goes first: big events, then small ones.
        stage.match("other", BUNDLE)
        number = 0
        for padding in (2_000, 500, 0):
            answers = [200]
            while answers[-1] < 500 and number < 1_000:
                number += 1
                body = event(number, content_state={**state(number), "clock": "x" * padding}, importance="routine")
                answers.append(stage.api.call("POST", "/v1/matches/other/events", body)[0])
        if answers[-1] < 500:
            raise SystemExit("the disk did not become full")

    def end(self):
        if self.cluster:
            self.cluster.remove()
            self.disk.remove()
            shutil.rmtree(self.wal)


class read_only(Stall):
    cause = "The database is read-only (default_transaction_read_only)"
    words = [r"read.only"]

    def go_wrong(self, stage):
        stage.cluster.query(f"ALTER DATABASE {stage.name} SET default_transaction_read_only = on")
        stage.cluster.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{stage.name}'")


class other_master_key(Stall):
    cause = "The service was started with another master key: the apps' keys cannot be read"
    words = [r"master key"]

    def go_wrong(self, stage):
        stage.key_file = stage.folder / "new.key"
        stage.key_file.write_bytes(os.urandom(32))
        stage.key_file.chmod(0o600)
        try:
            stage.restart()
        except SystemExit:
            pass  # It does not start so, and its log says why.


class sequence_restarted(Stall):
    cause = "The feed's sequence began again from a low number: its events are superseded"
    words = [r"supersed", r"sequence"]

    def go_wrong(self, stage):
        status, _, _ = stage.post(MATCH, event(1, id="far", sequence=48_112, content_state=state(1)))
        assert status == 202

    def goal(self):
        return event(2, sequence=812)


class old_times(Stall):
    cause = "The feed's occurred_at is two hours behind (a time zone taken for UTC): its events are superseded"
    words = [r"supersed", r"occurred_at|older|earlier|before"]

    def go_wrong(self, stage):
        # Its other source has the right time.
        body = event(1, id="other", occurred_at=now())
        del body["sequence"]
        assert stage.post(MATCH, body)[0] == 202

    def goal(self):
        body = event(2, occurred_at=now(-7200))
        del body["sequence"]
        return body


class other_environment(Stall):
    cause = "The tokens are of the other environment: APNs refuses them (400 BadDeviceToken), and the app's token sends stopped"
    words = [r"BadDeviceToken"]
    channel = False

    def go_wrong(self, stage):
        stage.faults({"on": {"route": "device"}, "do": {"status": 400, "reason": "BadDeviceToken"}})


class match_ended(Stall):
    cause = "The match has ended: an `end` came too early, and what comes after it is ignored"
    words = [r"\bended\b|match_ended"]

    def go_wrong(self, stage):
        assert stage.post(MATCH, event(1, kind="end"))[0] == 202
        wait_for("the end on the phones", lambda: all(p["ended"] for p in stage.phones()), 60, 0.5)


class channel_limit(Stall):
    cause = "The app has as many channels as APNs allows: the match has none (CannotCreateChannelConfig)"
    words = [r"CannotCreateChannelConfig|10,?000|channel limit"]
    tokens = has_channel = False

    def before_match(self, stage):
        stage.faults({"on": {"route": "manage"}, "do": {"status": 400, "reason": "CannotCreateChannelConfig"}})


class no_dispatcher(Stall):
    cause = "No process has the role `dispatch` (--roles api,housekeeping): nobody sends"
    words = [r"no process.{0,60}(dispatch|sends)|nobody (sends|dispatches)|role.{0,20}dispatch"]

    def go_wrong(self, stage):
        stage.flags += ["--roles", "api,housekeeping"]
        stage.restart()


class process_hangs(Stall):
    cause = "The only process that sends hangs (stopped by SIGSTOP)"
    words = [r"no process.{0,60}(dispatch|sends)|nobody (sends|dispatches)|hangs?\b|not responding|last (seen|heard)"]

    def go_wrong(self, stage):
        sender = stage.start(1, ["--roles", "dispatch"])
        stage.flags += ["--roles", "api,housekeeping"]
        stage.restart()
        assert stage.post(MATCH, event(1, id="again"))[0] == 202
        time.sleep(5)
        sender.stopped = True
        sender.process.send_signal(signal.SIGSTOP)


class contract_refuses(Stall):
    cause = "The feed's events break the type's contract (422 contract_violation): `home` is a text"
    words = [r"contract", r"home|content_state"]

    def goal(self):
        return event(2, content_state={**state(2), "home": "2"})


# What the stalls use


class Disk:
    """A small file system in memory."""

    def __init__(self, megabytes):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tl-disk-"))
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", self.folder], capture_output=True, text=True
        )
        if mounted.returncode:
            self.folder.rmdir()
            raise NotHere(f"mount: {mounted.stderr.strip()}")
        self.ballast = self.folder / "ballast"

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while file.write(b"\0" * size):
                        pass
                except OSError:
                    pass

    def free(self):
        self.ballast.unlink(missing_ok=True)

    def remove(self):
        subprocess.run(["umount", "-l", self.folder], check=False)
        self.folder.rmdir()


def openssl(folder, *arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=folder)


def make_ca(folder, name):
    """Files of a CA: certificate and key."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    openssl(folder, "req", "-x509", "-new", "-key", key, "-subj", "/CN=Example CA", "-days", "30", "-out", certificate)
    return certificate, key


def expired_server(folder, ca, port):
    """Listens where APNs was, with a certificate whose time is over."""
    key, request, certificate, names = (folder / f"leaf.{kind}" for kind in ("key", "csr", "pem", "ext"))
    openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    openssl(folder, "req", "-new", "-key", key, "-subj", "/CN=localhost", "-out", request)
    names.write_text("subjectAltName=DNS:localhost")
    openssl(
        folder, "x509", "-req", "-in", request, "-CA", ca[0], "-CAkey", ca[1], "-CAcreateserial", "-days", "-1",
        "-extfile", names, "-out", certificate,
    )
    return subprocess.Popen(
        ["openssl", "s_server", "-accept", str(port), "-cert", certificate, "-key", key, "-alpn", "h2", "-quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )


# A stall on its stage


def play(name, number, arguments, cluster):
    """Plants one; returns what there is to be seen, by part, and what went wrong."""
    stall = STALLS[name](random.Random(f"{arguments.seed} {name}"))
    stage = None
    try:
        stall.begin()
        stage = Stage(stall.cluster or cluster, f"stage_{number}", arguments.bin, relayed=True, cas=stall.cas)
        sight = plant(stall, stage, arguments)
        return {"stall": name, "cause": stall.cause, "words": stall.words, "sight": sight}
    except NotHere as error:
        return {"stall": name, "cause": stall.cause, "left_out": str(error)}
    except (Exception, SystemExit) as error:
        return {"stall": name, "cause": stall.cause, "failed": f"{type(error).__name__}: {error}"}
    finally:
        if stage:
            if arguments.keep:
                print(f"kept: {stage.folder} ({name})", file=sys.stderr)
            stage.close(arguments.keep)
        stall.end()


def plant(stall, stage, arguments):
    settings = {} if stall.channel else {"channels": "none"}
    stage.app(BUNDLE, **settings, **({} if stall.tokens else {"tokens": False}))
    stall.before_match(stage)
    stage.match(MATCH, BUNDLE, topics=["competition:cup"])
    if stall.channel and stall.has_channel:
        stage.subscribe(MATCH, 300)
    if stall.tokens:
        stage.register(MATCH, [f"{number:064x}" for number in range(1, 61)])
    shows = lambda goal: [p for p in stage.phones() if (p["shows"] or {}).get("home") == goal]
    if stall.has_channel:
        stage.post(MATCH, event(1, sequence=1, occurred_at=now(-1)))
        wait_for("the first goal is on all phones", lambda: len(shows(1)) == len(stage.phones()), 60, 0.3)
    stall.go_wrong(stage)
    try:
        stage.api.call("POST", f"/v1/matches/{MATCH}/events", stall.goal(), seconds=30)
    except OSError:
        pass
    posted = now()
    time.sleep(arguments.seconds)
    if shows(2):
        raise SystemExit("it is no stall: the second goal arrived")
    phones = ["300 phones are on its channel"] if stall.channel else []
    phones += ["60 phones are on update tokens"] if stall.tokens else []
    if not stall.has_channel:
        phones = ["its phones have asked for the channel and got none"]
    sight = {
        "complaint.txt": (
            f"The feed posted the second goal of the match `{MATCH}` at {posted}. At {now()} no phone shows it.\n"
            f"{' and '.join(phones)[0].upper()}{' and '.join(phones)[1:]}. Why is that, and what is to be done?\n"
        )
    }
    for part, words in (
        ("match-show.txt", ["match", "show", MATCH]),
        ("match-watch.txt", ["match", "watch", MATCH, "--once"]),
        ("doctor.txt", ["doctor", "--master-key-file", stage.key_file, *stage.apns_flags()]),
    ):
        sight[part] = typed(stage, words)
    for number in stage.services:
        sight["serve.log" if number == 0 else f"serve-{number + 1}.log"] = stage.log(number)
    return sight


def typed(stage, words):
    """What a terminal would have: the command line, what it printed, and how it ended."""
    line = " ".join(["touchline", *map(str, words[:3])]) if words[0] == "match" else "touchline doctor"
    try:
        run = stage.touchline(*words, key=stage.key, check=False, seconds=90)
        return f"$ {line}\n{run.stdout}{run.stderr}(exit code {run.returncode})\n"
    except subprocess.TimeoutExpired as error:
        printed = "".join(text.decode(errors="replace") for text in (error.stdout, error.stderr) if text)
        return f"$ {line}\n{printed}(no end within 90 s)\n"


def said(result):
    """The parts that name the cause, by themselves."""
    sight = {part: re.sub(r"(?m)^.*service: (starting|serving);.*$", "", text) for part, text in result["sight"].items()}
    return [
        part for part, text in sight.items()
        # What a service says of itself when it starts names no cause.
        if part != "complaint.txt" and all(re.search(word, text, re.IGNORECASE) for word in result["words"])
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="which stalls, in which order, and in which form (default 1)")
    parser.add_argument("--count", type=int, default=10, help="how many are drawn (default 10)")
    parser.add_argument("--stall", choices=STALLS, action="append", metavar="NAME", help="this one; may be repeated")
    parser.add_argument("--out", metavar="DIR", help="where the folders go")
    parser.add_argument("--check", action="store_true", help="look for the causes; all twenty, unless --stall or --count says less")
    parser.add_argument("--list", action="store_true", help="print the names and causes, and do nothing")
    parser.add_argument("--seconds", type=float, default=80, help="from the goal to the look (default 80)")
    parser.add_argument("--parallel", type=int, default=10, help="stages at a time (default 10)")
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folders")
    arguments = parser.parse_args()
    if arguments.list:
        for name, stall in STALLS.items():
            print(f"{name:<20} {stall(random.Random(f'{arguments.seed} {name}')).cause}")
        return
    if not arguments.check and not arguments.out:
        parser.error("--out DIR or --check is needed")
    dice = random.Random(arguments.seed)
    names = dice.sample(sorted(STALLS), len(STALLS))
    if arguments.stall:
        names = [name for name in names if name in arguments.stall]
    elif not arguments.check or arguments.count != parser.get_default("count"):
        names = names[: arguments.count]
    out = pathlib.Path(arguments.out or tempfile.mkdtemp(prefix="tl-stalls-"))
    out.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(settings=("max_connections = 1000",))
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
            results = list(pool.map(lambda job: play(job[1], job[0], arguments, cluster), enumerate(names, 1)))
    finally:
        cluster.remove()
    sealed, bad = {}, []
    for number, result in enumerate(results, 1):
        folder = out / f"stall-{number:02}"
        sealed[folder.name] = {key: result[key] for key in ("stall", "cause")}
        if "sight" not in result:
            why = result.get("left_out") or result["failed"]
            print(f"{result['stall']:<20} {'left out' if 'left_out' in result else 'FAILED'}: {why}", flush=True)
            bad += [result["stall"]] if "failed" in result else []
            continue
        folder.mkdir(exist_ok=True)
        for part, text in result["sight"].items():
            (folder / part).write_text(text)
        if arguments.check:
            parts = said(result)
            bad += [] if parts else [result["stall"]]
            print(f"{result['stall']:<20} {', '.join(parts) if parts else 'SAID NOWHERE'}  ({folder.name})", flush=True)
    (out / "sealed.json").write_text(json.dumps(sealed, indent=2) + "\n")
    print(f"{out}: {sum('sight' in result for result in results)} stalls; what caused them is in sealed.json", file=sys.stderr)
    if bad:
        sys.exit(f"stalls.py: {len(bad)} of {len(results)}: {', '.join(bad)}")


if __name__ == "__main__":
    main()
