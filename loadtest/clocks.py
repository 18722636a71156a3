#!/usr/bin/env python3
"""The database's clock is set, or another server with another clock takes over: no event waits for a clock.

    loadtest/clocks.py                   10 min ahead for a minute, 65 min behind for a minute, a standby 30 s behind promoted
    loadtest/clocks.py --case ahead      only this one: ahead, behind or standby
    loadtest/clocks.py --json -          the figures for programs

The cases run side by side, each with a PostgreSQL under libfaketime, two services and a simulator of its own. A feed posts a
goal every two seconds in three matches: on a channel, on update tokens, and on a channel with `occurred_at` in place of a
sequence. Each event's time is taken from its 202 until all its phones show it, or a later one. Every fifth goal has an alert, which
every phone must have had; and some answer must warn of the clock. Exits 1 if an event is refused or took longer than the
bound, if an alert was lost, or if nothing warned.

Needs a build, Python 3, PostgreSQL's programs and libfaketime (Debian: faketime). Everything runs on this machine.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import sys
import threading
import time

from cluster import Clock, Cluster
from stage import Stage, event
from sweep import wait_for

EVERY = 2.0  # seconds between two goals of a match
REPLICATED = ("wal_level = replica", "max_wal_senders = 4", "hot_standby = on")
PLACES = {"channel": "m-c", "tokens": "m-t", "occurred_at": "m-o"}


class Ahead:
    name, text = "ahead", "the clock 10 min ahead for a while, and back"
    offset = 600

    def __init__(self):
        self.clock = Clock()
        self.cluster = Cluster(clock=self.clock)
        self.database = f"postgres://touchline@127.0.0.1:{self.cluster.port}/touchline"

    def steps(self, seconds):
        """What happens when, in seconds from the first event; the last is the end."""
        return [(10, lambda: self.clock.set(self.offset)), (10 + seconds, lambda: self.clock.set(0)), (10 + 2 * seconds, None)]

    def remove(self):
        self.cluster.remove()
        self.clock.remove()


class Behind(Ahead):
    name, text = "behind", "the clock 65 min behind for a while, and back"
    offset = -65 * 60


class Standby:
    name, text = "standby", "a standby whose clock is 30 s behind is promoted"

    def __init__(self):
        self.clock = Clock(-30)
        self.cluster = Cluster(settings=REPLICATED)
        self.other = Cluster(base=f"host=127.0.0.1 port={self.cluster.port} user=touchline", clock=self.clock)
        hosts = f"127.0.0.1:{self.cluster.port},127.0.0.1:{self.other.port}"
        self.database = f"postgres://touchline@{hosts}/touchline?target_session_attrs=read-write"

    def steps(self, seconds):
        def promote():
            self.cluster.kill()
            self.other.promote()

        return [(10, promote), (10 + seconds, None)]

    def remove(self):
        self.other.remove()
        self.cluster.remove()
        self.clock.remove()


class Watcher(threading.Thread):
    """Notes when the phones of each match came to show which goal."""

    def __init__(self, stage, places):
        super().__init__(daemon=True)
        self.stage, self.places = stage, places
        self.seen = {match: [] for match in PLACES.values()}  # (time, what all phones show or have passed)
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.1):
            try:
                phones = self.stage.phones()
            except OSError:
                continue
            now, shows = time.time(), {}
            for phone in phones:
                match = self.places.get(phone.get("channel"), "m-t")
                home = (phone["shows"] or {}).get("home", 0)
                shows[match] = min(shows.get(match, home), home)
            for match, home in shows.items():
                if not self.seen[match] or self.seen[match][-1][1] < home:
                    self.seen[match].append((now, home))

    def shown(self, match, number):
        return next((at for at, home in self.seen[match] if home >= number), None)


class Feed:
    """Posts a match's goals, each at its time or as soon as the one before is answered."""

    def __init__(self, stage, match):
        self.stage, self.match = stage, match
        self.accepted, self.alerts, self.warnings, self.refused = {}, [], collections.Counter(), collections.Counter()

    def run(self, begin, seconds):
        number = 0
        while time.time() < begin + seconds:
            number += 1
            body = event(number)
            if self.match == "m-o":
                del body["sequence"]
                body["occurred_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            if number % 5 == 0:
                body["alert"] = {"title": f"{self.match} {number}", "body": "Goal"}
            status, answer, at = self.stage.post(self.match, body, seconds=90)
            if status == 202:
                self.accepted[number] = at
                self.warnings.update(answer.get("warnings", []))
                if "alert" in body:
                    self.alerts.append(body["alert"]["title"])
            else:
                self.refused[f"{status} {answer.get('code') or answer.get('status')}"] += 1
            time.sleep(max(0.0, begin + number * EVERY - time.time()))


def play(case, arguments):
    stage = watcher = None
    try:
        stage = Stage(case.cluster, f"clock_{case.name}", arguments.bin, database=case.database)
        stage.start(1)
        stage.app("com.example.channels")
        stage.app("com.example.tokens", channels="none")
        stage.match("m-c", "com.example.channels")
        stage.match("m-o", "com.example.channels")
        stage.match("m-t", "com.example.tokens")
        places = {stage.subscribe("m-c"): "m-c", stage.subscribe("m-o"): "m-o"}
        stage.register("m-t", [f"{number:064x}" for number in range(1, arguments.tokens + 1)])
        watcher = Watcher(stage, places)
        watcher.start()
        feeds = {match: Feed(stage, match) for match in PLACES.values()}
        steps = case.steps(arguments.seconds)
        begin = time.time()
        threads = [threading.Thread(target=feed.run, args=(begin, steps[-1][0])) for feed in feeds.values()]
        for thread in threads:
            thread.start()
        for at, step in steps:
            time.sleep(max(0.0, begin + at - time.time()))
            if step:
                step()
        for thread in threads:
            thread.join()
        last = {match: max(feed.accepted, default=0) for match, feed in feeds.items()}
        until = time.time() + arguments.patience
        while time.time() < until and any(watcher.shown(match, number) is None for match, number in last.items()):
            time.sleep(0.2)
        watcher.over.set()
        phones = stage.phones()  # before doctor pushes to a token of its own
        doctor = stage.touchline(
            "doctor", "--master-key-file", stage.key_file, *stage.apns_flags(), key=stage.key, check=False
        ).stdout
        return result(case, arguments, stage, feeds, watcher, places, phones, doctor, begin)
    except (Exception, SystemExit) as error:
        return {"case": case.name, "text": case.text, "failed": f"{type(error).__name__}: {error}", "good": False}
    finally:
        if watcher:
            watcher.over.set()
        if stage:
            if arguments.keep:
                print(f"kept: {stage.folder}", file=sys.stderr)
            stage.close(arguments.keep)
        case.remove()


def result(case, arguments, stage, feeds, watcher, places, phones, doctor, begin):
    delays, when, never, lost = {}, {}, {}, {}
    for place, match in PLACES.items():
        shown = {number: watcher.shown(match, number) for number in feeds[match].accepted}
        times = [(shown[number] - at, at - begin) for number, at in feeds[match].accepted.items() if shown[number]]
        delays[place], when[place] = (round(number, 2) for number in max(times, default=(0.0, 0.0)))
        never[place] = sum(at is None for at in shown.values())
        group = [phone for phone in phones if places.get(phone.get("channel"), "m-t") == match]
        lost[place] = sum(title not in phone["alert_titles"] for title in feeds[match].alerts for phone in group)
    warnings = sum((feed.warnings for feed in feeds.values()), collections.Counter())
    refused = sum((feed.refused for feed in feeds.values()), collections.Counter())
    return {
        "case": case.name, "text": case.text, "events": sum(len(feed.accepted) for feed in feeds.values()),
        "refused": dict(refused), "worst_seconds": delays, "worst_at": when, "never_shown": never,
        "alerts": sum(len(feed.alerts) for feed in feeds.values()), "alerts_lost": lost, "warnings": dict(warnings),
        "log_says_so": sum("clock" in stage.log(number) for number in stage.services),
        "doctor_says_so": any("clock" in line and "within" not in line for line in doctor.splitlines()),
        "good": not refused and not any(never.values()) and not any(lost.values()) and "clock_ahead" in warnings
        and max(delays.values()) <= arguments.bound,
    }


def text(found):
    if "failed" in found:
        return f"{found['text']}\n  {found['failed']}"
    lines = [f"{found['text']}: {found['events']} events{'' if found['good'] else ', NOT AS IT SHOULD BE'}"]
    for place in PLACES:
        never = found["never_shown"][place]
        lines.append(
            f"  {place:<12} from 202 to all phones: worst {found['worst_seconds'][place]:.1f} s"
            f" (after {found['worst_at'][place]:.0f} s)"
            + (f", {never} never shown" if never else "") + f"; alerts lost {found['alerts_lost'][place]}"
        )
    said = ", ".join(f"{name} × {count}" for name, count in found["warnings"].items()) or "none"
    refused = ", ".join(f"{name} × {count}" for name, count in found["refused"].items()) or "none"
    lines.append(f"  warnings: {said}; refused: {refused}")
    lines.append(f"  said by the log of {found['log_says_so']} services, by doctor: {'yes' if found['doctor_says_so'] else 'no'}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {case.name: case for case in (Ahead, Behind, Standby)}
    parser.add_argument("--case", choices=known, action="append", help="may be repeated (all three)")
    parser.add_argument("--seconds", type=int, default=60, help="how long a clock is off, and then right again (default 60)")
    parser.add_argument("--tokens", type=int, default=20, help="of the match on tokens (default 20)")
    parser.add_argument("--bound", type=float, default=5, help="seconds from 202 to the last phone (default 5)")
    parser.add_argument("--patience", type=float, default=60, help="how long late pushes are waited for (default 60)")
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - is the standard output")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folders, with their logs")
    arguments = parser.parse_args()
    cases = []
    try:
        for name in arguments.case or known:
            cases.append(known[name]())
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            results = list(pool.map(lambda case: play(case, arguments), cases))
    finally:
        for case in cases:
            case.remove()
    print("\n".join(map(text, results)), file=sys.stderr if arguments.json == "-" else sys.stdout)
    if arguments.json:
        figures = json.dumps({"bound": arguments.bound, "cases": results}, indent=2) + "\n"
        sys.stdout.write(figures) if arguments.json == "-" else pathlib.Path(arguments.json).write_text(figures)
    bad = [found["case"] for found in results if not found["good"]]
    if bad:
        sys.exit(f"clocks.py: the promise is not kept: {', '.join(bad)}")


if __name__ == "__main__":
    main()
