#!/usr/bin/env python3
"""A match of a million tokens in a flood of clock events, and then a goal: what reaches whom, how soon, in how much memory.

    loadtest/flood.py                        1,000,000 tokens, 30 routine events in 3 s, then a goal
    loadtest/flood.py --tokens 100000        the same with fewer

First a plain sweep of one key event is timed, on the same service. Then, after the gap of the routine updates, the flood.
Needs a release build (`swift build -c release`) and Python 3 alone. Everything runs on this machine.
"""
import argparse
import json
import pathlib
import subprocess
import threading
import time

from cluster import Cluster, binary
from sweep import Bench, Client, wait_for

# Looks every 2 ms whether the goal's first page is committed. A push left before that.
FIRST_PAGE = """
DO $$ DECLARE waited double precision; BEGIN LOOP
    SELECT extract(epoch FROM clock_timestamp() - m.accepted_at) INTO waited
        FROM matches m JOIN targets t USING (tenant_id, match_id) WHERE m.version = %d AND t.taken_version = m.version;
    EXIT WHEN FOUND; PERFORM pg_sleep(0.002); END LOOP; RAISE NOTICE 'waited=%%', waited; END $$
"""


class MemoryWatch(threading.Thread):
    """Reads the service's resident memory every 20 ms: its peak from `begin` on, not that of registering."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.file = pathlib.Path(f"/proc/{pid}/status")
        self.peak = 0
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            line = next(line for line in self.file.read_text().splitlines() if line.startswith("VmRSS:"))
            self.peak = max(self.peak, int(line.split()[1]) * 1024)


def pushed(bench):
    return Client(bench.apns["control"]).json("GET", "/_sim/counts")["requests"].get("device", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=30, help="routine events in three seconds (default 30)")
    parser.add_argument("--bin", default=".build/release", help="folder of the executables (default .build/release)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder, with its logs")
    arguments = parser.parse_args()
    cluster, bench = Cluster(), None
    arguments.database = cluster.url
    try:
        bench = Bench(arguments, arguments.tokens, lean=True)
        bench.prepare()
        plain = []
        for number in (1, 2):
            bench.post(number)
            started = time.monotonic()
            wait_for("the plain sweep", lambda number=number: bench.turn(number), 120)
            plain.append(time.monotonic() - started)
        print(f"  plain sweeps of {arguments.tokens:,} tokens: " + ", ".join(f"{seconds:.2f} s" for seconds in plain))

        before = pushed(bench)
        memory = MemoryWatch(bench.service.process.pid)
        memory.start()
        start = time.monotonic()
        for number in range(arguments.events):
            time.sleep(max(0, start + number * 3 / arguments.events - time.monotonic()))
            bench.post(3 + number, "routine")
        goal = 3 + arguments.events
        looking = subprocess.Popen(
            [binary("psql"), "-X", "-q", "-d", cluster.url, "-c", FIRST_PAGE % goal], stderr=subprocess.PIPE, text=True
        )
        time.sleep(max(0, start + 3 - time.monotonic()))
        bench.post(goal)
        accepted_at = time.monotonic()
        turn = wait_for("the goal on every token", lambda: bench.turn(goal), 120)
        seconds = time.monotonic() - accepted_at
        memory.ended.set()
        wait_for("all pushes are counted", lambda: pushed(bench) == pushed(bench), 10)
        per_token = (pushed(bench) - before) / arguments.tokens
        first = 1e3 * float(looking.communicate(timeout=10)[1].partition("waited=")[2].split()[0])
        peak = memory.peak / 2**20
        print(
            f"  goal after {arguments.events} routine events in 3 s: last token {seconds:.2f} s after it"
            f" ({seconds / min(plain):.2f} x the plain sweep), its first page committed {first:.0f} ms after its acceptance\n"
            f"  {per_token:.2f} pushes a token, service at most {peak:.1f} MiB meanwhile"
            f" ({bench.service.peak_bytes() / 2**20:.1f} with registering)\n  {turn}"
        )
        if arguments.json:
            figures = {
                "tokens": arguments.tokens, "plain_seconds": plain, "goal_seconds": seconds, "first_page_ms": first,
                "pushes_per_token": per_token, "peak_bytes": memory.peak,
            }
            pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=2) + "\n")
        if per_token > 2.2 or peak > 150 or seconds > 1.5 * max(plain) or first > 250:
            raise SystemExit("flood.py: the promise is not kept")
    finally:
        if bench:
            bench.close()
        cluster.remove()


if __name__ == "__main__":
    main()
