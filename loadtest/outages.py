#!/usr/bin/env python3
"""Outages of APNs: how soon after one every phone has its match's end.

    loadtest/outages.py                           5 s, 14 s, 2 min and 20 min of 500, 503 and refused connections
    loadtest/outages.py --seconds 5 --seconds 14  only these lengths
    loadtest/outages.py --fault 503 --json -      only this fault; the figures for programs

Each case runs twice, the second time with the service killed and started again in the middle. All cases run side by side,
each with a database, a service and a simulator of its own: the run takes a minute or two longer than its longest outage. A
case has three matches: on a channel of storage policy 1, on a channel of policy 0, and on update tokens. Goals and the `end`
are posted while APNs is away. Once APNs is back, every phone must have the end within the bound; an end that is still held
then counts from the end of its hold. Exits 1 where a phone has it later.

Needs a build, Python 3 and PostgreSQL's programs. Everything runs on this machine.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import sys
import time

from cluster import Cluster
from stage import Stage, event
from sweep import wait_for

LENGTHS = [5, 14, 120, 1200]
FAULTS = ["500", "503", "refused"]
REASONS = {"500": "InternalServerError", "503": "ServiceUnavailable"}
HOLD = 5.0  # seconds for which the service holds an end
MATCHES = {"policy 1": "m-1", "policy 0": "m-0", "tokens": "m-t"}


@dataclasses.dataclass
class Case:
    fault: str
    seconds: int
    restart: bool

    @property
    def name(self):
        return f"outage_{self.fault}_{self.seconds}{'_restart' if self.restart else ''}"

    def begin(self, stage):
        if self.fault == "refused":
            return stage.relay.shut()
        answer = {"status": int(self.fault), "reason": REASONS[self.fault]}
        stage.faults({"on": {"route": "device"}, "do": answer}, {"on": {"route": "broadcast"}, "do": answer})

    def end(self, stage):
        if self.fault == "refused":
            return stage.relay.open()
        stage.faults()

    def steps(self):
        """What happens when, in seconds from the outage's beginning: goals, the restart, and the end."""
        goals = [(0.2, "update"), *((self.seconds * share, "update") for share in (0.2, 0.35, 0.5, 0.65))]
        restart = [(self.seconds * 0.45, "restart")] if self.restart else []
        return sorted([*goals, *restart, (self.seconds * 0.75, "end")])


class Play:
    """One case on its stage."""

    def __init__(self, case, arguments, stage):
        self.case, self.arguments, self.stage = case, arguments, stage

    def prepare(self):
        stage = self.stage
        stage.app("com.example.keeps", storage_policy=1)
        stage.app("com.example.drops", storage_policy=0)
        stage.app("com.example.tokens", channels="none")
        stage.match("m-1", "com.example.keeps")
        stage.match("m-0", "com.example.drops")
        stage.match("m-t", "com.example.tokens")
        self.places = {stage.subscribe("m-1"): "policy 1", stage.subscribe("m-0"): "policy 0"}
        stage.register("m-t", [f"{number:064x}" for number in range(1, self.arguments.tokens + 1)])
        self.post(1, "update")
        wait_for(
            f"{self.case.name}: the first goal on every phone",
            lambda: all((phone["shows"] or {}).get("home") == 1 for phone in stage.phones()), 90, 0.2,
        )

    def post(self, number, kind):
        """One event in each match. Returns when the last was answered."""
        for match in MATCHES.values():
            status, answer, at = self.stage.post(match, event(number, kind), seconds=120)
            if status != 202:
                raise SystemExit(f"{self.case.name}: {kind} {number} of {match} was answered {status} {answer}")
        return at

    def run(self):
        """Seconds from recovery to the end, by place: a list with one number a phone or group; None: not within patience."""
        case, number = self.case, 1
        began, ended = time.time(), 0
        case.begin(self.stage)
        for at, step in case.steps():
            sleep_until(began + at)
            if step == "restart":
                self.stage.services[0].kill()
                self.stage.start(0)
            else:
                number += 1
                ended = self.post(number, step)
        sleep_until(began + case.seconds)
        case.end(self.stage)
        recovered = time.time()
        due = max(recovered, ended + HOLD)
        places = {}
        while time.time() < due + self.arguments.patience:
            phones, now = self.stage.phones(), time.time()
            for phone in phones:
                name = phone.get("channel") or phone["token"]
                if phone["ended"] and name not in places:
                    places[name] = max(0.0, now - due)
            if len(places) == len(phones):
                break
            time.sleep(0.25)
        delays = {place: [] for place in MATCHES}
        for phone in phones:
            name = phone.get("channel") or phone["token"]
            delays[self.places.get(name, "tokens")].append(places.get(name))
        return {
            "fault": case.fault, "seconds": case.seconds, "restart": case.restart, "recovered_at": recovered,
            "end_due_after_recovery": due - recovered,
            "phones": {place: len(found) for place, found in delays.items()},
            "without_end": {place: found.count(None) for place, found in delays.items()},
            "worst_seconds": {place: None if None in found else round(max(found), 2) for place, found in delays.items()},
            "good": all(None not in found and max(found) <= self.arguments.bound for found in delays.values()),
        }


def sleep_until(at):
    time.sleep(max(0.0, at - time.time()))


def play(case, arguments, cluster):
    stage = None
    try:
        stage = Stage(cluster, case.name, arguments.bin, relayed=case.fault == "refused")
        show = Play(case, arguments, stage)
        show.prepare()
        result = show.run()
    except (Exception, SystemExit) as error:
        result = {**dataclasses.asdict(case), "failed": f"{type(error).__name__}: {error}", "good": False}
    if stage:
        if arguments.keep:
            print(f"kept: {stage.folder} ({case.name})", file=sys.stderr)
        stage.close(arguments.keep)
    return result


def row(result, arguments):
    words = [f"{result['fault']:<8}", f"{result['seconds']:>7} s", f"{'restart' if result['restart'] else '':<8}"]
    if "failed" in result:
        return "  ".join([*words, result["failed"]])
    for place in MATCHES:
        worst, missing = result["worst_seconds"][place], result["without_end"][place]
        words.append(f"{f'{missing} never' if worst is None else f'{worst:.1f} s':>10}")
    return "  ".join([*words, "" if result["good"] else "TOO LATE"]).rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, action="append", help="an outage's length; may be repeated (5, 14, 120, 1200)")
    parser.add_argument("--fault", choices=FAULTS, action="append", help="may be repeated (all three)")
    parser.add_argument("--restart", choices=["with", "without", "both"], default="both", help="of the service, in the middle")
    parser.add_argument("--tokens", type=int, default=60, help="of the match on tokens (default 60)")
    parser.add_argument("--bound", type=float, default=30, help="seconds from recovery to the end (default 30)")
    parser.add_argument("--patience", type=float, default=120, help="how long a late end is waited for (default 120)")
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - is the standard output")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folders, with their logs")
    arguments = parser.parse_args()
    restarts = {"with": [True], "without": [False], "both": [False, True]}[arguments.restart]
    cases = [
        Case(fault, seconds, restart)
        for seconds in sorted(arguments.seconds or LENGTHS, reverse=True)
        for fault in arguments.fault or FAULTS
        for restart in restarts
    ]
    cluster = Cluster(settings=("max_connections = 1000",))
    try:
        # The longest begin first. Stages are made one at a time, and a case's clock starts with its outage.
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            results = list(pool.map(lambda case: play(case, arguments, cluster), cases))
    finally:
        cluster.remove()
    out = sys.stderr if arguments.json == "-" else sys.stdout
    print("from APNs' recovery to the end on the last phone", file=out)
    print("  ".join([f"{'fault':<8}", f"{'outage':>9}", " " * 8, *(f"{place:>10}" for place in MATCHES)]), file=out)
    for result in results:
        print(row(result, arguments), file=out)
    if arguments.json:
        text = json.dumps({"bound": arguments.bound, "cases": results}, indent=2) + "\n"
        sys.stdout.write(text) if arguments.json == "-" else pathlib.Path(arguments.json).write_text(text)
    late = sum(not result["good"] for result in results)
    if late:
        sys.exit(f"outages.py: {late} of {len(results)} cases: a phone had its end later than {arguments.bound:g} s")


if __name__ == "__main__":
    main()
